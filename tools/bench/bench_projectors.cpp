// `tofstream-bench projectors`: ns an event of forward, back and the fused EM step on the workloads of random LORs,
// each result checked against the double-precision reference in the same run, with libparallelproj beside it if the
// user has it.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include "kernels/device/stopwatch.hpp"
#include "kernels/ring/blob/blob_projector.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/simulate/workloads.hpp"
#include "kernels/sort/partition.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/bench_projecting.hpp"
#include "tools/bench/machine.hpp"
#include "tools/bench/parallelproj_peer.hpp"
#include "tools/bench/verdict.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;

struct ProjectorsOptions {
  std::vector<std::string> workloads = {"W1", "W3"};
  std::vector<std::string> projectors = {"joseph", "tor"};
  std::vector<std::string> backends = {"cpu", "cuda"};
  std::vector<int> threads = {1, 2};
  std::int64_t events = 1'000'000, check_events = checked_events;
  double tube_width_voxels = 3;
  int repeats = 5;
  std::string cuda_path = "automatic", peer, output;
  bool json = false;
  double wrong = 0;
};

struct ProjectorCase {
  Workload workload;
  std::string projector;
  Backend backend = Backend::cpu;
  bool tof = true;
  int threads = 1;  // on the CPU
};

const std::map<std::string, CudaPath> cuda_paths = {{"automatic", CudaPath::automatic},
                                                    {"direct", CudaPath::direct},
                                                    {"tiled", CudaPath::tiled},
                                                    {"paper", CudaPath::paper}};

Grid image_grid(const ProjectorCase& c) {
  return c.projector == "blobs" ? with_standard_blobs(c.workload.grid) : c.workload.grid;
}

std::unique_ptr<ListModeProjector> make_right(const ProjectorCase& c, const ProjectorsOptions& options, CudaPath path) {
  if (c.projector == "blobs") return make_blob_projector(image_grid(c), {.cuda_path = path}, c.backend);
  if (c.projector == "tor")
    return make_tor_projector(c.workload.grid, tor_settings(c.workload.grid, options.tube_width_voxels, path),
                              c.backend);
  return make_joseph_projector(c.workload.grid, {.cuda_path = path}, c.backend);
}

std::unique_ptr<ListModeProjector> make(const ProjectorCase& c, const ProjectorsOptions& options, CudaPath path) {
  return made_wrong(make_right(c, options, path), options.wrong);
}

std::unique_ptr<ListModeProjector> make_reference(const ProjectorCase& c, const ProjectorsOptions& options) {
  if (c.projector == "blobs") return make_blob_reference(image_grid(c), {});
  if (c.projector == "tor")
    return make_tor_reference(c.workload.grid,
                              tor_settings(c.workload.grid, options.tube_width_voxels, CudaPath::automatic));
  return make_joseph_reference(c.workload.grid, {});
}

// Normalised RMS deviation of the fused step's image from the reference's, over the first events. The timed path is
// forced, since so few events would take the direct path on a GPU.
double deviation(const ProjectorCase& c, const ProjectorsOptions& options, const EventBatch& events,
                 const Image& image) {
  const CudaPath path = cuda_paths.at(options.cuda_path);
  const auto projector = make(c, options, path == CudaPath::automatic ? CudaPath::tiled : path);
  const auto reference = make_reference(c, options);
  const std::int64_t count =
      std::min(events.count, checkable_events(c.projector != "joseph", image_grid(c), options.check_events));
  const EventBatch there = events.to(memory_of(c.backend));
  return em_step_nrms(*projector, there.view().slice(0, count), *reference, events.view().slice(0, count), image);
}

ordered_json measure(const ProjectorCase& c, const ProjectorsOptions& options) {
  EventBatch random = random_lors(c.workload, options.events, 1);
  if (!c.tof) random.tof_mm = {};
  const Memory memory = memory_of(c.backend);
  const Image image = test_image(image_grid(c)), image_there = image.to(memory);
  Image back = Image::zeros(image_grid(c), memory);
  Buffer<float> values = Buffer<float>::zeros(memory, options.events);
  const auto projector = make(c, options, cuda_paths.at(options.cuda_path));
  ordered_json result{{"workload", c.workload.name},
                      {"projector", c.projector},
                      {"tof", c.tof},
                      {"backend", c.backend == Backend::cuda ? "cuda" : "cpu"}};
  if (c.backend == Backend::cpu) result["threads"] = c.threads;
  if (c.projector == "tor") result["tube_width_voxels"] = options.tube_width_voxels;
  if (c.backend == Backend::cuda) result["cuda_path"] = options.cuda_path;
  const int repeats = c.backend == Backend::cuda ? std::max(options.repeats, 21) : options.repeats;
  const double to_ns = 1e6 / static_cast<double>(options.events);
  for (const bool sorted : {false, true}) {
    const EventBatch events = sorted ? partition_and_sort(random, c.backend) : random.to(memory);
    synchronize(nullptr);
    const EventView view = events.view();
    const auto ns = [&](const std::function<void()>& work) {
      return median(time_ms(c.backend, 1, repeats, work)) * to_ns;
    };
    result[sorted ? "sorted_ns_per_event" : "random_ns_per_event"] = {
        {"forward", ns([&] { projector->forward(view, image_there.voxels.data(), values.data()); })},
        {"back", ns([&] { projector->back(view, values.data(), back.voxels.data()); })},
        {"fused", ns([&] { projector->em_step(view, image_there.voxels.data(), back.voxels.data()); })}};
    if (const auto plan = projector->plan(view)) {
      ordered_json& times = result[sorted ? "sorted_ns_per_event" : "random_ns_per_event"];
      times["plan"] = ns([&] { (void)projector->plan(view); });
      times["planned"] =
          ns([&] { projector->planned_em_step(plan.get(), view, image_there.voxels.data(), back.voxels.data()); });
      times["planned_forward"] =
          ns([&] { projector->planned_forward(plan.get(), view, image_there.voxels.data(), values.data()); });
      times["planned_back"] = ns([&] { projector->planned_back(plan.get(), view, values.data(), back.voxels.data()); });
    }
  }
  const double nrms = deviation(c, options, random, image);
  result["nrms_to_reference"] = nrms;
  result["accurate"] = is_accurate(nrms);
  return result;
}

ordered_json measure_peer(const ProjectorCase& c, const ProjectorsOptions& options) {
  ParallelprojPeer peer(options.peer, Backend::cpu);
  peer.set_threads(c.threads);
  EventBatch random = random_lors(c.workload, options.events, 1);
  const Image image = test_image(c.workload.grid);
  Image back = Image::zeros(c.workload.grid);
  std::vector<float> values(static_cast<std::size_t>(options.events), 1.0f);
  ordered_json result{{"workload", c.workload.name},
                      {"peer", "libparallelproj " + peer.version()},
                      {"tof", true},
                      {"backend", "cpu"},
                      {"threads", c.threads}};
  const double to_ns = 1e6 / static_cast<double>(options.events);
  for (const bool sorted : {false, true}) {
    const EventBatch events = sorted ? partition_and_sort(random, Backend::cpu) : random.to(Memory::host);
    peer.set_events(events.view(), c.workload.grid);
    const double forward =
        median(time_ms(Backend::cpu, 1, options.repeats, [&] { peer.forward(image.voxels.data(), values.data()); }));
    const double backward =
        median(time_ms(Backend::cpu, 1, options.repeats, [&] { peer.back(values.data(), back.voxels.data()); }));
    result[sorted ? "sorted_ns_per_event" : "random_ns_per_event"] = {
        {"forward", forward * to_ns}, {"back", backward * to_ns}, {"fused", (forward + backward) * to_ns}};
  }
  return result;
}

std::string optional_time(const ordered_json& times, const char* what) {
  return times.contains(what) ? fmt::format("{:.3f}", times[what].get<double>()) : "";
}

void print_projectors(const ordered_json& r) {
  std::string name = r.contains("peer") ? r["peer"].get<std::string>() : r["projector"].get<std::string>();
  if (r.contains("tube_width_voxels")) name += fmt::format(" T_w {}", r["tube_width_voxels"].get<double>());
  const std::string where = r.contains("threads") ? fmt::format("cpu x{}", r["threads"].get<int>()) : "cuda";
  for (const char* order : {"random_ns_per_event", "sorted_ns_per_event"})
    fmt::print("{:<8} {:<28} {:<8} {:<8} {:<7} {:>10.2f} {:>10.2f} {:>10.2f} {:>10} {:>10}  {}\n",
               r["workload"].get<std::string>(), name, r["tof"].get<bool>() ? "ToF" : "non-ToF", where,
               std::string(order).substr(0, 6), r[order]["forward"].get<double>(), r[order]["back"].get<double>(),
               r[order]["fused"].get<double>(), optional_time(r[order], "plan"), optional_time(r[order], "planned"),
               r.contains("nrms_to_reference") ? fmt::format("{:.1e}", r["nrms_to_reference"].get<double>()) : "");
}

void bench_projectors(const ProjectorsOptions& options) {
  ordered_json results = ordered_json::array();
  if (!options.json)
    fmt::print("{:<8} {:<28} {:<8} {:<8} {:<7} {:>10} {:>10} {:>10} {:>10} {:>10}  {}\n", "workload", "projector", "",
               "on", "order", "forward", "back", "fused", "plan", "planned", "nrms to reference  (ns an event)");
  const auto add = [&](const ordered_json& result) {
    if (!options.json) print_projectors(result);
    std::fflush(stdout);  // results appear as they are measured
    results.push_back(result);
  };
  for (const std::string& name : options.workloads) {
    const Workload workload = from_input([&] { return find_workload(name); });
    for (const std::string& backend : options.backends) {
      if (backend == "cuda" && !why_no_cuda().empty()) {
        if (!options.json) fmt::print("{:<8} cuda: {}\n", name, why_no_cuda());
        continue;
      }
      const auto threads = backend == "cpu" ? options.threads : std::vector<int>{0};
      for (const int n : threads) {
        std::optional<tbb::global_control> limit;
        if (n > 0) limit.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(n));
        tbb::task_arena arena(n > 0 ? n : tbb::task_arena::automatic);
        arena.execute([&] {
          for (const std::string& projector : options.projectors)
            for (const bool tof : {true, false})
              add(measure({workload, projector, backend == "cuda" ? Backend::cuda : Backend::cpu, tof, n}, options));
          if (backend == "cpu" && !options.peer.empty() && n == threads.back())
            add(measure_peer({workload, "peer", Backend::cpu, true, n}, options));
        });
      }
    }
  }
  const ordered_json report{
      {"bench", "projectors"}, {"machine", machine()}, {"events", options.events}, {"results", results}};
  write_report(report, options.json, options.output);
  end_by_verdict(results, {"workload", "projector", "backend"});
}

std::function<void()> declare_projectors(Command& line) {
  auto options = std::make_shared<ProjectorsOptions>();
  line.add_option("--workload", options->workloads, "W1, W2-128, W2-256, W3 (default: W1 W3)");
  line.add_option("--projector", options->projectors, "joseph, tor, blobs (default: joseph tor)")
      .one_of({"joseph", "tor", "blobs"});
  line.add_option("--backend", options->backends, "cpu, cuda (default: both)").one_of({"cpu", "cuda"});
  line.add_option("--threads", options->threads, "Numbers of CPU threads (default: 1 2)").within(1, 1024);
  line.add_option("--events", options->events, "Events (default: 1000000)").within(1000, 1000000000);
  line.add_option("--check-events", options->check_events, "Events of the check against the reference")
      .within(1, 1000000);
  line.add_option("--tube", options->tube_width_voxels, "Tube width in voxels (default: 3)").within(0.5, 64.0);
  line.add_option("--cuda-path", options->cuda_path,
                  "Path of the EM step: automatic, direct, tiled, paper (not joseph; default: automatic)")
      .one_of({"automatic", "direct", "tiled", "paper"});
  line.add_option("--repeats", options->repeats, "Timed runs, of which the median counts").within(1, 1000);
  line.add_option("--peer", options->peer, "A libparallelproj shared library (CPU build) to measure beside");
  add_wrong_option(line, options->wrong);
  line.add_option("-o,--out", options->output, "Write the results as JSON");
  line.add_flag("--json", options->json, "Print JSON");
  line.footer("Example: tofstream-bench projectors --workload W1 --threads 1 2 -o results.json");
  return [options] { bench_projectors(*options); };
}

TOFSTREAM_BENCH("projectors", "ns an event of forward, back and fused EM step, CPU and GPU", declare_projectors);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
