// `tofstream-bench scaling`: iterations of list-mode EM by one GPU of a host, and by several that share each subset:
// seconds, the share of the ideal, where the rest goes, and the same by a model of the machine beside it.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/gadget/gadget_record.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/ring/io/ring_scanner_yaml.hpp"
#include "gadgets/step/ranks.hpp"
#include "kernels/analysis/compare.hpp"
#include "kernels/em/em_update.hpp"
#include "kernels/em/image_sum.hpp"
#include "kernels/memory/devices.hpp"
#include "kernels/ring/blob/blob_projector.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/bench_projecting.hpp"
#include "tools/bench/long_list.hpp"
#include "tools/bench/machine.hpp"
#include "tools/bench/scaling_model.hpp"
#include "tools/bench/scaling_sensitivity.hpp"
#include "tools/bench/verdict.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct ScalingOptions {
  std::string scanner = "long_axial", backend = "cuda", from = "gpu", predict, results = "scaling.json", output;
  double events = 1e9, sensitivity_pairs = 0;
  std::vector<int> size = {200, 200, 300}, ranks;
  double voxel_mm = 2, tube_width_voxels = 3;
  int subsets = 10, iterations = 3;
  std::vector<std::string> projectors = {"joseph", "tor"};
  bool deterministic = false, json = false;

  Backend where() const { return backend == "cuda" ? Backend::cuda : Backend::cpu; }
  // Where batches are projected from where they lie, of one part.
  bool measures_overhead() const { return !deterministic && (where() == Backend::cpu || from == "gpu"); }
};

/// A projector and nothing else of a scanner.
class ProjectorAlone final : public SystemModel<EventBatch> {
 public:
  using Make = std::function<std::unique_ptr<ListModeProjector>()>;
  explicit ProjectorAlone(Make make) : make_(std::move(make)), own_(make_()) {}
  void prepare(const EventSubset&, const Estimate&, Context&) override {}
  ListModeProjector& projector() override { return *own_; }
  std::unique_ptr<Projector<EventView>> another_projector(Context&) const override { return make_(); }
  SubsetSensitivity sensitivity(const EventSubset&) override { return {}; }
  std::shared_ptr<const Quantity> quantity(const EventSubset&, const NamedCorrection*, Context&) override {
    return nullptr;
  }
  Modality modality() const override { return Modality::pet; }
  DataWords words() const override { return {"events", ""}; }
  Missed missed() const override { return {}; }

 private:
  Make make_;
  std::unique_ptr<ListModeProjector> own_;
};

/// Whole batches where there are enough for all subsets; else pieces of them, in `memory`.
std::vector<Batches> dealt(const Batches& batches, int subsets, Memory memory) {
  std::vector<Batches> result(static_cast<std::size_t>(subsets));
  if (batches.size() >= result.size()) {
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const auto& batch = batches[i];
      result[i * result.size() / batches.size()].push_back(
          batch->memory() == memory ? batch : std::make_shared<const EventBatch>(batch->to(memory)));
    }
  } else {
    const std::int64_t all = count_of(batches);
    for (int s = 0; s < subsets; ++s) {
      const Part part{s, subsets};
      std::int64_t before = 0;
      for (const auto& batch : batches) {
        const std::int64_t first = std::clamp(part.first(all) - before, std::int64_t{0}, batch->count),
                           end = std::clamp(part.first(all) + part.size(all) - before, std::int64_t{0}, batch->count);
        if (end > first)
          result[static_cast<std::size_t>(s)].push_back(
              std::make_shared<const EventBatch>(range_of(*batch, {first, end - first}, memory)));
        before += batch->count;
      }
    }
  }
  synchronize(nullptr);
  return result;
}

std::vector<EventSubset> subsets_of(const std::vector<Batches>& batches, int iterations) {
  const int subsets = static_cast<int>(batches.size());
  std::vector<EventSubset> result(batches.size());
  for (std::size_t s = 0; s < result.size(); ++s) {
    result[s].batches = batches[s];
    result[s].step = {.iteration = 1, .iterations = iterations + 1, .subset = static_cast<int>(s), .subsets = subsets};
    result[s].next_batches = batches[(s + 1) % batches.size()];
  }
  return result;
}

struct Timed {
  std::vector<double> iterations_s;
  std::vector<RankFigures> ranks;
  double waiting_s = 0, adding_s = 0;
  Image back;  // projection of the first subset, on the host

  double first_s() const { return iterations_s.front(); }
  double later_s() const { return *std::min_element(iterations_s.begin() + 1, iterations_s.end()); }
};

Timed reconstruct(const ScalingOptions& options, const ProjectorAlone::Make& make, const Division& division,
                  std::vector<EventSubset> subsets, const Grid& grid) {
  const Memory memory = memory_of(options.where());
  GadgetRecord record("scaling");
  Context context(record);
  ProjectorAlone model(make);
  Ranks<EventBatch> ranks(division, 0, model, context);
  Image estimate = test_image(grid).to(memory);
  const Image inverse = Image::filled(grid, 1, memory);
  Image back = Image::zeros(grid, memory);
  // Also loads the kernels, and takes the memory that a pass needs.
  EventSubset once{.step = {.iteration = 1, .iterations = 1}, .batches = subsets.front().batches};
  (void)ranks.project({once, estimate, nullptr}, back, context);
  Timed timed{.back = back.to(Memory::host)};
  synchronize(nullptr);
  for (int iteration = 1; iteration <= options.iterations; ++iteration) {
    synchronize(nullptr);
    const auto began = Clock::now();
    for (EventSubset& subset : subsets) {
      subset.step.iteration = iteration;
      back.voxels.clear();
      (void)ranks.project({subset, estimate, nullptr}, back, context);
      em_update(estimate, inverse, back, 1);
    }
    synchronize(nullptr);
    timed.iterations_s.push_back(seconds_since(began));
  }
  timed.ranks = ranks.figures();
  timed.waiting_s = ranks.waiting_s();
  timed.adding_s = ranks.adding_s();
  return timed;
}

/// Seconds of a later iteration by the projector alone, with what Share keeps of the batches and nothing else of ranks.
double later_without_ranks_s(const ScalingOptions& options, const ProjectorAlone::Make& make,
                             const std::vector<EventSubset>& subsets, const Grid& grid) {
  const Memory memory = memory_of(options.where());
  const auto projector = make();
  Image estimate = test_image(grid).to(memory), back = Image::zeros(grid, memory);
  const Image inverse = Image::filled(grid, 1, memory);
  std::map<const EventBatch*, std::unique_ptr<ProjectionPlan>> plans;
  double best_s = std::numeric_limits<double>::infinity();
  for (int iteration = 0; iteration <= options.iterations; ++iteration) {
    synchronize(nullptr);
    const auto began = Clock::now();
    for (const EventSubset& subset : subsets) {
      back.voxels.clear();
      for (const auto& batch : subset.batches) {
        auto& plan = plans[batch.get()];
        if (!plan) plan = projector->plan(batch->view());
        (void)projector->planned_em_step(plan.get(), batch->view(), estimate.voxels.data(), back.voxels.data());
        if (on_host(memory)) plan.reset();
      }
      em_update(estimate, inverse, back, 1);
    }
    synchronize(nullptr);
    if (iteration > 0) best_s = std::min(best_s, seconds_since(began));
  }
  return best_s;
}

Undivided measure_undivided(const Grid& grid, Backend backend) {
  if (backend == Backend::cpu || cuda_devices() < 2) return {};
  share_device_memory(2);
  Image here = Image::zeros(grid, Memory::device), there;
  const Image other = Image::zeros(grid, Memory::device);
  Undivided cost;
  DeviceThread second(1);
  second
      .begin([&] {
        there = Image::zeros(grid, Memory::device);
        cost.copy_s = 1e-3 * median_ms(backend, 21, [&] {
                        detail::copy(there.voxels.data(), Memory::device, here.voxels.data(), Memory::device,
                                     here.bytes(), nullptr);
                      });
        there = {};
      })
      .get();
  cost.add_s = 1e-3 * median_ms(backend, 21, [&] { add_difference(here, 1, other); });
  return cost;
}

Grid grid_of(const ScalingOptions& options, const std::string& projector) {
  const auto edge = static_cast<float>(options.voxel_mm);
  const Grid grid = Grid::centred(options.size[0], options.size[1], options.size[2], {edge, edge, edge});
  return projector == "blobs" ? with_standard_blobs(grid) : grid;
}

/// The share of the ideal that is wanted of 1e9 events of long_axial.
double goal_of(const std::string& projector, int ranks) {
  const bool joseph = projector == "joseph";
  if (ranks == 2) return joseph ? 0.97 : 0.98;
  if (ranks == 4) return joseph ? 0.94 : 0.97;
  if (ranks == 8) return joseph ? 0.88 : 0.94;
  return 0;
}

bool is_the_goals_case(const ScalingOptions& options) {
  return options.where() == Backend::cuda && options.scanner == "long_axial" && options.events == 1e9 &&
         options.subsets == 10 && options.from == "gpu" && !options.deterministic;
}

ordered_json row_of(const ScalingOptions& options, const std::string& projector, const Division& division,
                    const Timed& timed, const Timed& one, const Undivided& cost) {
  const double ideal_s = one.later_s() / division.ranks;
  const double undivided_s = options.subsets * cost.of_subset(division.ranks, division.parts);
  ordered_json row{{"projector", projector},
                   {"ranks", division.ranks},
                   {"parts", division.parts},
                   {"first_s", timed.first_s()},
                   {"later_s", timed.later_s()},
                   {"of_ideal_first", one.first_s() / division.ranks / timed.first_s()},
                   {"of_ideal", ideal_s / timed.later_s()},
                   {"predicted_s", ideal_s + undivided_s},
                   {"predicted_of_ideal", ideal_s / (ideal_s + undivided_s)},
                   {"waiting_s", timed.waiting_s},
                   {"adding_s", timed.adding_s},
                   {"nrms_to_one", compare(timed.back, one.back).nrms}};
  for (const RankFigures& rank : timed.ranks)
    row["rank"].push_back({{"device", rank.device},
                           {"events", rank.of_shares.data},
                           {"planning_s", rank.of_shares.planning_s},
                           {"kept_planning_s", rank.of_shares.kept_planning_s},
                           {"projecting_s", rank.of_shares.projecting_s}});
  constexpr double nrms_of_ranks = 1e-6;
  row["accurate"] = row["nrms_to_one"].get<double>() <= nrms_of_ranks;
  if (const double goal = goal_of(projector, division.ranks); goal > 0 && is_the_goals_case(options)) {
    row["of_ideal_must_be"] = goal;
    row["holds"] = row["of_ideal"].get<double>() >= goal;
  }
  return row;
}

std::vector<int> numbers_of_ranks(const ScalingOptions& options) {
  if (!options.ranks.empty()) return options.ranks;
  std::vector<int> numbers = {1};
  for (int ranks = 2; ranks <= cuda_devices(); ranks *= 2) numbers.push_back(ranks);
  return numbers;
}

ProjectorAlone::Make maker(const ScalingOptions& options, const std::string& projector, const Grid& grid) {
  return [&options, projector, grid]() -> std::unique_ptr<ListModeProjector> {
    if (projector == "joseph")
      return make_joseph_projector(grid, {.deterministic = options.deterministic}, options.where());
    if (projector == "blobs")
      return make_blob_projector(grid, {.deterministic = options.deterministic}, options.where());
    TorSettings settings = tor_settings(grid, options.tube_width_voxels, CudaPath::automatic);
    settings.deterministic = options.deterministic;
    return make_tor_projector(grid, settings, options.where());
  };
}

void measure(const ScalingOptions& options, const std::string& projector, const std::vector<EventSubset>& subsets,
             const Undivided& cost, ordered_json& rows) {
  const Grid grid = grid_of(options, projector);
  Timed one;
  for (const int ranks : numbers_of_ranks(options)) {
    const Division division{.ranks = ranks, .parts = options.deterministic ? usual_deterministic_parts : ranks};
    Timed timed = reconstruct(options, maker(options, projector, grid), division, subsets, grid);
    if (one.iterations_s.empty()) one = timed;
    rows.push_back(row_of(options, projector, division, timed, one, cost));
    ordered_json& row = rows.back();
    if (division.ranks == 1 && options.measures_overhead()) {
      row["later_without_ranks_s"] = later_without_ranks_s(options, maker(options, projector, grid), subsets, grid);
      row["overhead"] = timed.later_s() / row["later_without_ranks_s"].get<double>() - 1;
    }
    if (!options.json)
      fmt::print("{:<8} {:>5} {:>9.3f} {:>9.3f} {:>8.1f}% {:>8.1f}% {:>10.1f}% {:>9.3f} {:>9.3f} {:>9.1e}\n", projector,
                 ranks, timed.first_s(), timed.later_s(), 100 * row["of_ideal_first"].get<double>(),
                 100 * row["of_ideal"].get<double>(), 100 * row["predicted_of_ideal"].get<double>(), timed.waiting_s,
                 timed.adding_s, row["nrms_to_one"].get<double>());
    std::fflush(stdout);
  }
}

ordered_json measure_sensitivity(const ScalingOptions& options, const Scanner& scanner) {
  ordered_json all = ordered_json::array();
  for (const std::string& projector : options.projectors) {
    const auto rows =
        sensitivity_rows(scanner, static_cast<std::int64_t>(options.sensitivity_pairs), numbers_of_ranks(options),
                         maker(options, projector, grid_of(options, projector)));
    for (ordered_json row : rows) {
      row["projector"] = projector;
      if (!options.json)
        fmt::print("{:<8} {:>5} sensitivity of {} pairs {:.3f} s, {:.1f}% of the ideal\n", projector,
                   row["ranks"].get<int>(), row["pairs"].get<std::int64_t>(), row["seconds"].get<double>(),
                   100 * row["of_ideal"].get<double>());
      all.push_back(std::move(row));
    }
  }
  return all;
}

/// Predicts the times of a cluster from the results of one host.
void predict(const ScalingOptions& options, const ordered_json& measured) {
  const Cluster cluster = from_input([&] { return read_cluster(options.predict); });
  const ordered_json rows = from_input([&] { return predicted(measured, cluster); });
  if (!options.json) print_predicted(rows);
  ordered_json report{{"bench", "scaling"}, {"predicted_from", measured.at("machine")}, {"predicted", rows}};
  write_report(report, options.json, options.output);
}

ordered_json read_results(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw InputError(fmt::format("{}: cannot be read", file));
  const ordered_json results = ordered_json::parse(in, nullptr, false);
  if (!results.is_object()) throw InputError(fmt::format("{}: this is no JSON of tofstream-bench scaling", file));
  return results;
}

void bench_scaling(const ScalingOptions& options) {
  if (!options.predict.empty()) return predict(options, read_results(options.results));
  ordered_json report{{"bench", "scaling"}, {"machine", machine()}, {"backend", options.backend}};
  if (const std::string reason = why_no_cuda(); options.where() == Backend::cuda && !reason.empty()) {
    if (!options.json) fmt::print("skipped: {}\n", reason);
    report["skipped"] = reason;
    write_report(report, options.json, options.output);
    return;
  }
  const RingScanner ring =
      from_input([&] { return formats::read_ring_scanner(find_shared("scanners", options.scanner)); });
  const Grid grid = grid_of(options, "voxels");
  const auto count = static_cast<std::int64_t>(options.events);
  const bool on_gpu = options.where() == Backend::cuda;
  const Memory drawn_to = on_gpu ? Memory::pinned : Memory::host;
  const auto scanner = make_scanner(ring);
  Batches drawn = draw_long_list(scanner, grid, count, drawn_to);
  const std::vector<Batches> batches =
      dealt(drawn, options.subsets, on_gpu && options.from == "gpu" ? Memory::device : drawn_to);
  drawn.clear();
  const Undivided cost = measure_undivided(grid, options.where());
  report.update({{"scanner", options.scanner},
                 {"size", options.size},
                 {"voxel_mm", options.voxel_mm},
                 {"events", count},
                 {"events_from", on_gpu ? options.from : "host"},
                 {"subsets", options.subsets},
                 {"deterministic", options.deterministic},
                 {"gpus", cuda_devices()},
                 {"copy_of_image_ms", 1e3 * cost.copy_s},
                 {"adding_an_image_ms", 1e3 * cost.add_s}});
  if (!options.json)
    fmt::print(
        "{} events of {} from {}, {} subsets; seconds an iteration\n{:<8} {:>5} {:>9} {:>9} {:>9} {:>9} {:>11} "
        "{:>9} {:>9} {:>9}\n",
        count, options.scanner, on_gpu ? options.from : "host", options.subsets, "", "ranks", "first", "later",
        "of ideal", "of ideal", "predicted", "waiting", "adding", "nrms");
  ordered_json rows = ordered_json::array();
  for (const std::string& projector : options.projectors)
    measure(options, projector, subsets_of(batches, options.iterations), cost, rows);
  report["results"] = rows;
  if (options.sensitivity_pairs > 0) report["sensitivity"] = measure_sensitivity(options, *scanner);
  write_report(report, options.json, options.output);
  end_by_verdict(rows, {"projector", "ranks"});
}

std::function<void()> declare_scaling(Command& line) {
  auto options = std::make_shared<ScalingOptions>();
  line.add_option("--events", options->events, "Events (default: 1e9)").within(1e3, 1e11);
  line.add_option("--scanner", options->scanner, "A scanner of share/scanners, or a YAML file (default: long_axial)");
  line.add_option("--size", options->size, "Voxels along x, y and z (default: 200 200 300)")
      .expected(3)
      .within(1, 4096);
  line.add_option("--voxel", options->voxel_mm, "Edge of a voxel in mm (default: 2)").within(0.1, 100.0);
  line.add_option("--projector", options->projectors, "joseph, tor, blobs (default: joseph tor)")
      .one_of({"joseph", "tor", "blobs"});
  line.add_option("--tube", options->tube_width_voxels, "Tube width of the TOR in voxels (default: 3)")
      .within(0.5, 64.0);
  line.add_option("--ranks", options->ranks, "Numbers of GPUs, 1 first (default: 1, 2, 4, ... of the host's)")
      .within(1, 64);
  line.add_option("--sensitivity-pairs", options->sensitivity_pairs,
                  "Time the sensitivity of about so many pairs of detectors too (default: 0, none)")
      .within(0.0, 1e12);
  line.add_option("--subsets", options->subsets, "Subsets (default: 10)").within(1, 10000);
  line.add_option("--iterations", options->iterations, "Iterations, 2 at least (default: 3)").within(2, 100);
  line.add_option("--from", options->from, "Where the events are: gpu (the first one), pinned (default: gpu)")
      .one_of({"gpu", "pinned"});
  line.add_flag("--deterministic", options->deterministic, "Sums that do not depend on the number of GPUs");
  line.add_option("--backend", options->backend, "cuda, or cpu for a look at the same (default: cuda)")
      .one_of({"cpu", "cuda"});
  line.add_option("--predict", options->predict,
                  "Measure nothing: a YAML file of a cluster, for which --results are predicted (docs ranks)");
  line.add_option("--results", options->results, "What this command wrote on one host (default: scaling.json)");
  line.add_option("-o,--out", options->output, "Write the results as JSON");
  line.add_flag("--json", options->json, "Print JSON");
  line.footer(
      "Example: tofstream-bench scaling --projector joseph -o scaling.json\n"
      "         tofstream-bench scaling --predict cluster.yaml --results scaling.json");
  return [options] { bench_scaling(*options); };
}

TOFSTREAM_BENCH("scaling", "Iterations by one GPU and by several that share each subset, beside a prediction",
                declare_scaling);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
