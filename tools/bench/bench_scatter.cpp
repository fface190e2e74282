// `tofstream-bench scatter`: seconds for single scatter with ToF of a body in whole scanners, on either backend, whose
// results are compared in the same run; and for scatter of more than one order.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/io/shared_files.hpp"
#include "gadgets/ring/io/ring_scanner_yaml.hpp"
#include "kernels/ring/scatter/multiple_scatter.hpp"
#include "kernels/ring/scatter/scatter_scanner.hpp"
#include "kernels/ring/simulate/ring_scanner.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/bench_projecting.hpp"
#include "tools/bench/machine.hpp"
#include "tools/bench/verdict.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;

struct ScatterOptions {
  std::vector<std::string> scanners = {"biograph_vision", "long_axial"};
  std::vector<std::string> backends = {"cpu", "cuda"};
  double point_mm = 20;
  bool without_tof = false;
  int repeats = 3;
  std::string output;
  bool json = false;
};

/// Seconds that an estimate may take, on an NVIDIA H200 and on two cores.
struct ScatterBound {
  const char* scanner;
  double cuda_s, cpu_s;
};
constexpr ScatterBound scatter_bounds[] = {{"biograph_vision", 0.3, 60}, {"long_axial", 3, 600}};

/// A body of water of 400 x 300 mm, as long as the scanner but at most 700 mm, of activity 1, with a ball of 4 off the
/// centre.
struct ScatterBody {
  Image activity, mu;

  explicit ScatterBody(double half_scanner_mm)
      : activity(Image::zeros(Grid::centred(110, 85, 180, {4, 4, 4}))), mu(activity) {
    constexpr float half_x = 200, half_y = 150, most_half_z = 350, ball_mm = 40, water_per_mm = 0.0096f;
    const float half_z = std::min(most_half_z, static_cast<float>(half_scanner_mm));
    for (int k = 0; k < mu.grid.size[2]; ++k)
      for (int j = 0; j < mu.grid.size[1]; ++j)
        for (int i = 0; i < mu.grid.size[0]; ++i) {
          const Vec3 at = mu.grid.centre(i, j, k);
          if (std::hypot(at.x / half_x, at.y / half_y) > 1 || std::abs(at.z) > half_z) continue;
          const std::int64_t voxel = mu.grid.index(i, j, k);
          mu.voxels[voxel] = water_per_mm;
          activity.voxels[voxel] = norm(at - Vec3{80, 30, 20}) < ball_mm ? 4.0f : 1.0f;
        }
  }
};

/// The root of the mean square of what two estimates differ by, over that of one.
double nrms_of_estimates(const ScatterEstimate& found, const ScatterEstimate& expected) {
  double apart = 0, all = 0;
  for (std::size_t n = 0; n < expected.values.size(); ++n) {
    const auto value = static_cast<double>(expected.values[n]);
    apart += std::pow(static_cast<double>(found.values[n]) - value, 2);
    all += value * value;
  }
  return std::sqrt(apart / all);
}

ordered_json measured(const std::string& name, const ScatterScanner& scanner, const SingleScatter& scatter,
                      const ScatterBody& body, Backend backend, const ScatterOptions& options,
                      std::optional<ScatterEstimate>& of_other) {
  const ScatterSampling sampling =
      ScatterSampling::of(reach_of_scatter_lines * scanner.detectors.radius_mm, scanner.half_length_mm,
                          options.without_tof ? 0 : scanner.tof_sigma_mm);
  ScatterEstimate made;
  std::vector<double> seconds;
  for (int i = 0; i < options.repeats; ++i) {
    const auto began = std::chrono::steady_clock::now();
    made = scatter.estimate(body.activity, sampling, backend);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  const double time = median(seconds);
  ordered_json row{{"scanner", name},
                   {"backend", backend == Backend::cuda ? "cuda" : "cpu"},
                   {"points", scatter.points()},
                   {"lines", static_cast<std::int64_t>(made.values.size()) / made.size[4]},
                   {"tof_samples", made.size[4]},
                   {"seconds", time},
                   {"bound_s", nullptr},
                   {"holds", nullptr}};
  for (const ScatterBound& bound : scatter_bounds)
    if (name == bound.scanner && !options.without_tof) {
      const double most = backend == Backend::cuda ? bound.cuda_s : bound.cpu_s;
      row["bound_s"] = most;
      row["holds"] = time <= most;
    }
  if (of_other) {
    const double nrms = nrms_of_estimates(made, *of_other);
    row["nrms_to_other_backend"] = nrms;
    row["accurate"] = is_accurate(nrms);
  }
  of_other = std::move(made);
  return row;
}

/// Scatters that a GPU must detect a second.
constexpr double detected_a_second = 1e7;

/// All orders, of as many decays as there are to be, for their rate; or those of more than one, to their default error.
ordered_json measured_orders(const std::string& name, const ScatterScanner& scanner, const ScatterBody& body,
                             Backend backend, int from_order, const ScatterOptions& options) {
  const ScatterSampling sampling =
      ScatterSampling::of(reach_of_scatter_lines * scanner.detectors.radius_mm, scanner.half_length_mm,
                          options.without_tof ? 0 : scanner.tof_sigma_mm);
  MultipleScatterSettings settings{.from_order = from_order};
  if (from_order == 1) settings.most_decays = 1;  // the least that are followed
  MultipleScatter made;
  std::vector<double> seconds;
  for (int i = 0; i < options.repeats; ++i) {
    const auto began = std::chrono::steady_clock::now();
    made = multiple_scatter(body.activity, body.mu, scanner.detectors, sampling, settings, backend);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  const double time = median(seconds);
  ordered_json row{{"scanner", name},           {"backend", backend == Backend::cuda ? "cuda" : "cpu"},
                   {"from_order", from_order},  {"decays", made.decays},
                   {"detected", made.recorded}, {"relative_error", made.relative_error},
                   {"seconds", time},           {"bound_s", nullptr},
                   {"holds", nullptr}};
  if (from_order == 1 && backend == Backend::cuda) {
    row["bound_s"] = static_cast<double>(made.recorded) / detected_a_second;
    row["holds"] = time <= row["bound_s"].get<double>();
  }
  return row;
}

void print_orders(const ordered_json& row) {
  fmt::print("{:<16} {:<5} from order {}: {:.3g} decays, {:.3g} detected, error {:.1f} %, {:.3f} s{}\n",
             row["scanner"].get<std::string>(), row["backend"].get<std::string>(), row["from_order"].get<int>(),
             row["decays"].get<double>(), row["detected"].get<double>(), 100 * row["relative_error"].get<double>(),
             row["seconds"].get<double>(),
             row["bound_s"].is_null() ? "" : fmt::format(" <= {:.3f}", row["bound_s"].get<double>()));
  std::fflush(stdout);
}

void print_scatter(const ordered_json& row) {
  fmt::print("{:<16} {:<5} {:>7} {:>8} {:>5} {:>9.3f} {:>9} {:>9}\n", row["scanner"].get<std::string>(),
             row["backend"].get<std::string>(), row["points"].get<std::int64_t>(), row["lines"].get<std::int64_t>(),
             row["tof_samples"].get<int>(), row["seconds"].get<double>(),
             row["bound_s"].is_null() ? "" : fmt::format("<= {:g}", row["bound_s"].get<double>()),
             row.contains("nrms_to_other_backend") ? fmt::format("{:.1e}", row["nrms_to_other_backend"].get<double>())
                                                   : std::string());
  std::fflush(stdout);  // lines appear as they are measured
}

void bench_scatter(const ScatterOptions& options) {
  ordered_json rows = ordered_json::array();
  if (!options.json)
    fmt::print("{:<16} {:<5} {:>7} {:>8} {:>5} {:>9} {:>9} {:>9}\n", "scanner", "on", "points", "lines", "ToF",
               "seconds", "must be", "cpu/cuda");
  for (const std::string& name : options.scanners) {
    const ScatterScanner scanner = from_input(
        [&] { return scatter_scanner(*make_scanner(formats::read_ring_scanner(find_shared("scanners", name)))); });
    const ScatterBody body(scanner.half_length_mm);
    const SingleScatter scatter(body.mu, scanner.detectors, options.point_mm);
    std::optional<ScatterEstimate> of_other;
    for (const std::string& backend : options.backends) {
      if (backend == "cuda" && !why_no_cuda().empty()) continue;
      rows.push_back(
          measured(name, scanner, scatter, body, backend == "cuda" ? Backend::cuda : Backend::cpu, options, of_other));
      if (!options.json) print_scatter(rows.back());
    }
    for (const std::string& backend : options.backends) {
      if (backend == "cuda" && !why_no_cuda().empty()) continue;
      for (const int from_order : {1, 2}) {
        rows.push_back(measured_orders(name, scanner, body, backend == "cuda" ? Backend::cuda : Backend::cpu,
                                       from_order, options));
        if (!options.json) print_orders(rows.back());
      }
    }
  }
  write_report(
      {{"bench", "scatter"},
       {"machine", machine()},
       {"workload", "a body of water of 400 x 300 mm, as long as the scanner but at most 700 mm, with a hot ball"},
       {"point_mm", options.point_mm},
       {"repeats", options.repeats},
       {"nrms_must_be_at_most", nrms_bound},
       {"results", rows}},
      options.json, options.output);
  end_by_verdict(rows, {"scanner", "backend"});
}

std::function<void()> declare_scatter(Command& line) {
  auto options = std::make_shared<ScatterOptions>();
  line.add_option("--scanner", options->scanners,
                  "Scanners of share/scanners, or YAML files (default: biograph_vision long_axial)");
  line.add_option("--backend", options->backends, "cpu, cuda (default: both)").one_of({"cpu", "cuda"});
  line.add_option("--point-mm", options->point_mm, "Distance between scatter points (default: 20)").within(2.0, 200.0);
  line.add_flag("--without-tof", options->without_tof, "Whole lines");
  line.add_option("--repeats", options->repeats, "Timed runs, of which the median counts (default: 3)").within(1, 1000);
  line.add_option("-o,--out", options->output, "Write the results as JSON");
  line.add_flag("--json", options->json, "Print JSON");
  line.footer(
      "Example: tofstream-bench scatter --scanner biograph_vision -o scatter.json\n"
      "Exit code 1 where a bound does not hold, or the backends differ.");
  return [options] { bench_scatter(*options); };
}

TOFSTREAM_BENCH("scatter", "Single scatter with ToF of a body in whole scanners, and the other orders",
                declare_scatter);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
