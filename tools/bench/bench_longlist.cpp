// `tofstream-bench longlist`: one pass of list-mode EM over very many events of a long scanner, copied from host memory
// while others are projected: seconds and their parts, how busy the GPU is, and the same with the events on the GPU.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/io/shared_files.hpp"
#include "gadgets/ring/io/ring_scanner_yaml.hpp"
#include "kernels/analysis/compare.hpp"
#include "kernels/em/em_update.hpp"
#include "kernels/project/data_feed.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/bench_projecting.hpp"
#include "tools/bench/long_list.hpp"
#include "tools/bench/machine.hpp"
#include "tools/bench/verdict.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct LonglistOptions {
  std::string scanner = "long_axial", backend = "cuda", output, petsird;
  double events = 1e9;
  std::vector<int> size = {200, 200, 300};
  double voxel_mm = 2, tube_width_voxels = 3;
  std::vector<std::string> projectors = {"joseph", "tor"}, memories;
  bool json = false;
  double wrong = 0;

  Backend where() const { return backend == "cuda" ? Backend::cuda : Backend::cpu; }
};

struct ListCase {
  RingScanner ring;
  std::shared_ptr<const Scanner> scanner;
  Grid grid;
};

std::unique_ptr<ListModeProjector> make(const std::string& name, const LonglistOptions& options, const Grid& grid,
                                        CudaPath path) {
  if (name == "joseph")
    return made_wrong(make_joseph_projector(grid, {.cuda_path = path}, options.where()), options.wrong);
  return made_wrong(make_tor_projector(grid, tor_settings(grid, options.tube_width_voxels, path), options.where()),
                    options.wrong);
}

struct Pass {
  double total_s = 0, wait_s = 0, plan_s = 0, em_step_s = 0, update_s = 0, copy_s = 0;
  std::size_t copied_bytes = 0;
  EmTally tally;
  Image sums;
};

/// One iteration with one subset. Plans and steps are timed by the GPU's own events.
Pass iterate(ListModeProjector& projector, const Batches& batches, const Image& image) {
  const Backend backend = projector.backend();
  const Memory memory = memory_of(backend);
  Pass pass{.sums = Image::zeros(image.grid, memory)};
  Image estimate = image.to(memory);
  const Image inverse = Image::filled(image.grid, 1, memory);
  DataFeed<EventBatch> feed;
  synchronize(nullptr);
  const auto began = Clock::now();
  for (std::size_t i = 0; i < batches.size(); ++i) {
    EventBatch copy;
    if (on_host(batches[i]->memory()) && !on_host(memory)) {
      const auto waited = Clock::now();
      copy = feed.take(batches[i]);
      pass.wait_s += seconds_since(waited);
      if (i + 1 < batches.size()) feed.begin(batches[i + 1]);
    }
    const EventView events = (copy.count > 0 ? copy : *batches[i]).view();
    std::unique_ptr<ProjectionPlan> plan;
    pass.plan_s += 1e-3 * time_ms(backend, 0, 1, [&] { plan = projector.plan(events); }).front();
    pass.em_step_s += 1e-3 * time_ms(backend, 0, 1, [&] {
                               pass.tally += projector.planned_em_step(plan.get(), events, estimate.voxels.data(),
                                                                       pass.sums.voxels.data());
                             }).front();
  }
  pass.update_s = 1e-3 * time_ms(backend, 0, 1, [&] { em_update(estimate, inverse, pass.sums, 1); }).front();
  pass.total_s = seconds_since(began);
  pass.copied_bytes = feed.copied_bytes();
  pass.copy_s = feed.copy_seconds();
  return pass;
}

ordered_json row_of(const std::string& projector, const char* from, const Pass& pass, std::int64_t events) {
  const double busy_s = pass.plan_s + pass.em_step_s + pass.update_s;
  ordered_json row{{"projector", projector},         {"events_from", from},
                   {"total_s", pass.total_s},        {"ns_per_event", 1e9 * pass.total_s / static_cast<double>(events)},
                   {"plan_s", pass.plan_s},          {"em_step_s", pass.em_step_s},
                   {"update_s", pass.update_s},      {"idle_s", pass.total_s - busy_s},
                   {"wait_for_copy_s", pass.wait_s}, {"busy", busy_s / pass.total_s},
                   {"events_used", pass.tally.used}, {"events_skipped", pass.tally.skipped}};
  if (pass.copied_bytes > 0) {
    row["copy_s"] = pass.copy_s;
    row["copied_gb"] = 1e-9 * static_cast<double>(pass.copied_bytes);
    row["copy_gb_per_s"] = 1e-9 * static_cast<double>(pass.copied_bytes) / pass.copy_s;
  }
  return row;
}

/// The rate of copies while nothing else is done.
double copy_gb_per_s(const Batches& batches) {
  (void)DataFeed<EventBatch>().take(batches.front());  // allocates memory for copies
  DataFeed<EventBatch> feed;
  for (std::size_t i = 0; i < std::min<std::size_t>(batches.size(), 8); ++i) (void)feed.take(batches[i]);
  return 1e-9 * static_cast<double>(feed.copied_bytes()) / feed.copy_seconds();
}

double nrms_to_reference(const std::string& name, const ListCase& c, const LonglistOptions& options,
                         const Batches& batches) {
  const std::int64_t count =
      std::min(batches.front()->count, checkable_events(name != "joseph", c.grid, checked_events));
  EventBatch here = batches.front()->without_arrays();
  here.count = count;
  for_each_array_pair(here, *batches.front(), [&]<class T>(Buffer<T>& to, const Buffer<T>& from) {
    if (!from.empty()) to = Buffer<T>::from(from.span().first(static_cast<std::size_t>(count)));
  });
  const EventBatch there = here.to(memory_of(options.where()));
  const auto projector = make(name, options, c.grid, CudaPath::tiled);
  const auto reference =
      name == "joseph"
          ? make_joseph_reference(c.grid, {})
          : make_tor_reference(c.grid, tor_settings(c.grid, options.tube_width_voxels, CudaPath::automatic));
  return em_step_nrms(*projector, there.view(), *reference, here.view(), test_image(c.grid));
}

void print_longlist(const ordered_json& row) {
  const auto number = [&](const char* key) { return row.contains(key) ? row[key].get<double>() : 0.0; };
  fmt::print("{:<8} {:<8} {:>8.3f} {:>8.3f} {:>8.3f} {:>8.4f} {:>8.3f} {:>8.3f} {:>7.1f} {:>6.1f}%\n",
             row["projector"].get<std::string>(), row["events_from"].get<std::string>(), number("total_s"),
             number("plan_s"), number("em_step_s"), number("update_s"), number("idle_s"), number("wait_for_copy_s"),
             number("copy_gb_per_s"), 100 * number("busy"));
  std::fflush(stdout);
}

/// Projects the events in one memory with each projector. `sums`: of the first memory, with which the others are
/// compared.
void measure(const ListCase& c, const LonglistOptions& options, const char* from, const Batches& batches,
             std::vector<Image>& sums, ordered_json& rows) {
  const Image image = test_image(c.grid);
  for (std::size_t p = 0; p < options.projectors.size(); ++p) {
    const std::string& name = options.projectors[p];
    const auto projector = make(name, options, c.grid, CudaPath::automatic);
    (void)iterate(*projector, {batches.front()}, image);  // allocates memory, loads the kernels
    const Pass pass = iterate(*projector, batches, image);
    ordered_json row = row_of(name, from, pass, count_of(batches));
    Image here = pass.sums.to(Memory::host);
    synchronize(nullptr);
    if (p < sums.size())
      row["nrms_to_first"] = compare(here, sums[p]).nrms;
    else
      sums.push_back(std::move(here));
    if (!options.json) print_longlist(row);
    rows.push_back(std::move(row));
  }
}

void bench_longlist(const LonglistOptions& options) {
  ordered_json report{{"bench", "longlist"}, {"machine", machine()}, {"backend", options.backend}};
  if (const std::string reason = why_no_cuda(); options.where() == Backend::cuda && !reason.empty()) {
    if (!options.json) fmt::print("skipped: {}\n", reason);
    report["skipped"] = reason;
    write_report(report, options.json, options.output);
    return;
  }
  const RingScanner ring =
      from_input([&] { return formats::read_ring_scanner(find_shared("scanners", options.scanner)); });
  const auto edge = static_cast<float>(options.voxel_mm);
  const ListCase c{ring, make_scanner(ring),
                   Grid::centred(options.size[0], options.size[1], options.size[2], {edge, edge, edge})};
  std::vector<std::string> memories = options.memories;
  if (memories.empty())
    memories =
        options.where() == Backend::cuda ? std::vector<std::string>{"pinned", "gpu"} : std::vector<std::string>{"host"};
  const auto count = static_cast<std::int64_t>(options.events);
  const bool pinned = memories.front() == "pinned";
  const auto began = Clock::now();
  const Batches drawn = draw_long_list(c.scanner, c.grid, count, pinned ? Memory::pinned : Memory::host);
  report.update(
      {{"scanner", options.scanner},
       {"size", options.size},
       {"voxel_mm", options.voxel_mm},
       {"events", count},
       {"bytes_per_event", static_cast<double>(drawn.front()->bytes()) / static_cast<double>(drawn.front()->count)},
       {"generate_s", seconds_since(began)}});
  if (!options.petsird.empty()) {
    const auto writing = Clock::now();
    write_petsird(ring, drawn, options.petsird);
    report["write_petsird_s"] = seconds_since(writing);
  }
  if (!options.json)
    fmt::print(
        "{} events of {}, drawn in {:.1f} s; seconds an iteration\n{:<8} {:<8} {:>8} {:>8} {:>8} {:>8} {:>8} "
        "{:>8} {:>7} {:>7}\n",
        count, options.scanner, report["generate_s"].get<double>(), "", "events", "total", "plan", "em step", "update",
        "idle", "waiting", "GB/s", "busy");
  if (options.where() == Backend::cuda) report["copy_alone_gb_per_s"] = copy_gb_per_s(drawn);
  ordered_json rows = ordered_json::array();
  std::vector<Image> sums;
  for (const std::string& memory : memories) {
    const bool as_drawn = memory == (pinned ? "pinned" : "host");
    measure(c, options, memory.c_str(),
            as_drawn ? drawn
                     : copied(drawn,
                              memory == "gpu" ? Memory::device : (memory == "pinned" ? Memory::pinned : Memory::host)),
            sums, rows);
  }
  report["results"] = rows;
  ordered_json judged = ordered_json::array();
  for (const std::string& name : options.projectors) {
    const double nrms = nrms_to_reference(name, c, options, drawn);
    report["nrms_to_reference"][name] = nrms;
    judged.push_back({{"projector", name}, {"accurate", is_accurate(nrms)}});
  }
  report["verdicts"] = judged;
  write_report(report, options.json, options.output);
  end_by_verdict(judged, {"projector"});
}

std::function<void()> declare_longlist(Command& line) {
  auto options = std::make_shared<LonglistOptions>();
  line.add_option("--events", options->events, "Events (default: 1e9)").within(1e3, 1e11);
  line.add_option("--scanner", options->scanner, "A scanner of share/scanners, or a YAML file (default: long_axial)");
  line.add_option("--size", options->size, "Voxels along x, y and z (default: 200 200 300)")
      .expected(3)
      .within(1, 4096);
  line.add_option("--voxel", options->voxel_mm, "Edge of a voxel in mm (default: 2)").within(0.1, 100.0);
  line.add_option("--projector", options->projectors, "joseph, tor (default: both)").one_of({"joseph", "tor"});
  line.add_option("--tube", options->tube_width_voxels, "Tube width of the TOR in voxels (default: 3)")
      .within(0.5, 64.0);
  line.add_option("--from", options->memories,
                  "Where the events are: pinned (host memory), host (not pinned), gpu (default: pinned gpu)")
      .one_of({"pinned", "host", "gpu"});
  line.add_option("--backend", options->backend, "cuda, or cpu for a look at the same (default: cuda)")
      .one_of({"cpu", "cuda"});
  line.add_option("--write-petsird", options->petsird, "Also write the events to this file");
  add_wrong_option(line, options->wrong);
  line.add_option("-o,--out", options->output, "Write the results as JSON");
  line.add_flag("--json", options->json, "Print JSON");
  line.footer("Example: tofstream-bench longlist --projector joseph -o longlist.json");
  return [options] { bench_longlist(*options); };
}

TOFSTREAM_BENCH("longlist", "An iteration over a billion events that come from host memory, and its parts",
                declare_longlist);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
