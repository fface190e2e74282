// `tofstream-bench operators`: each operator on the image and its adjoint, on an image of any size.
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernels/analysis/compare.hpp"
#include "kernels/operator/gaussian_operator.hpp"
#include "kernels/psf/psf_operator.hpp"
#include "kernels/warp/warp.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/bench_projecting.hpp"
#include "tools/bench/machine.hpp"
#include "tools/bench/verdict.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;

struct OperatorOptions {
  std::vector<int> size = {200, 200, 300};
  std::vector<std::string> backends = {"cpu", "cuda"};
  int repeats = 11;
  std::string output;
  bool json = false;
};

constexpr double operator_bound_s = 1.5e-3;  // of 12 million voxels, on a GPU
constexpr double nrms_of_operators = 1e-6;   // CUDA to the CPU

struct OperatorCase {
  const char* name;
  double bound_s;  // on a GPU; 0: none
  std::function<std::shared_ptr<const ImageOperator>(const Grid&, Backend)> make;
};

/// A movement as of breathing: 10 mm along the axis in the middle, less towards the sides.
DisplacementField breathing(const Grid& grid) {
  DisplacementField field{Image::zeros(grid), Image::zeros(grid), Image::zeros(grid)};
  for (std::int64_t v = 0; v < grid.voxels(); ++v) {
    const Vec3 at = grid.centre(static_cast<int>(v % grid.size[0]), static_cast<int>(v / grid.size[0] % grid.size[1]),
                                static_cast<int>(v / grid.stride(2)));
    field[0].voxels[v] = 0.01f * at.x;
    field[2].voxels[v] = 10 * std::exp(-(at.x * at.x + at.y * at.y) / 2e4f);
  }
  return field;
}

std::vector<OperatorCase> operator_cases() {
  const std::vector<ResolutionPoint> profile = {{0, 0, {4, 4, 5}}, {100, 0, {5, 4.4, 5.2}}, {200, 0, {7.6, 5, 6}}};
  std::vector<ResolutionPoint> profiles;
  for (const double z : {-300.0, 0.0, 300.0})
    for (ResolutionPoint point : profile) {
      point.z_mm = z;
      profiles.push_back(point);
    }
  return {{"gaussian_psf, 5 mm", 0,
           [](const Grid& grid, Backend backend) {
             return std::make_shared<const GaussianOperator>(grid, Vec3{5, 5, 5}, backend);
           }},
          {"psf of one z", operator_bound_s,
           [profile](const Grid& grid, Backend backend) {
             return std::make_shared<const PsfOperator>(grid, ResolutionTable(profile), backend);
           }},
          {"psf of three z", operator_bound_s,
           [profiles](const Grid& grid, Backend backend) {
             return std::make_shared<const PsfOperator>(grid, ResolutionTable(profiles), backend);
           }},
          {"warp", operator_bound_s, [](const Grid& grid, Backend backend) {
             return std::make_shared<const SparseOperator>(grid, warp_rows(breathing(grid)), backend);
           }}};
}

void measure_operators(const OperatorOptions& options, const Grid& grid, Backend backend, ordered_json& rows) {
  const Image image = test_image(grid), there = image.to(memory_of(backend));
  for (const OperatorCase& each : operator_cases()) {
    const auto image_operator = each.make(grid, backend);
    const auto on_cpu =
        backend == Backend::cuda && options.backends.size() > 1 ? each.make(grid, Backend::cpu) : nullptr;
    for (const bool is_adjoint : {false, true}) {
      const auto apply = [is_adjoint](const ImageOperator& to_apply, const Image& x) {
        return is_adjoint ? to_apply.adjoint(x) : to_apply.forward(x);
      };
      const double ms = median_ms(backend, options.repeats, [&] { apply(*image_operator, there); });
      ordered_json row{{"name", fmt::format("{}{}", each.name, is_adjoint ? ", adjoint" : "")},
                       {"backend", backend == Backend::cuda ? "cuda" : "cpu"},
                       {"ms", ms},
                       {"bound_ms", nullptr},
                       {"holds", nullptr}};
      if (backend == Backend::cuda && each.bound_s > 0 && grid.voxels() == 12'000'000) {
        row["bound_ms"] = 1e3 * each.bound_s;
        row["holds"] = ms <= 1e3 * each.bound_s;
      }
      if (on_cpu) {
        const Image here = apply(*image_operator, there).to(Memory::host);
        synchronize(nullptr);
        const double nrms = compare(here, apply(*on_cpu, image)).nrms;
        row["nrms_to_cpu"] = nrms;
        row["accurate"] = nrms <= nrms_of_operators;
      }
      if (!options.json)
        fmt::print("{:<30} {:<5} {:>9.3f} ms{}\n", row["name"].get<std::string>(), row["backend"].get<std::string>(),
                   ms, row["bound_ms"].is_null() ? "" : fmt::format(", must be {:g}", row["bound_ms"].get<double>()));
      rows.push_back(std::move(row));
    }
  }
}

void bench_operators(const OperatorOptions& options) {
  const Grid grid = Grid::centred(options.size[0], options.size[1], options.size[2], {2, 2, 2});
  ordered_json rows = ordered_json::array();
  for (const std::string& backend : options.backends)
    if (backend == "cpu" || why_no_cuda().empty())
      measure_operators(options, grid, backend == "cuda" ? Backend::cuda : Backend::cpu, rows);
  write_report({{"bench", "operators"},
                {"machine", machine()},
                {"workload", "operators on an image of 2 mm voxels, and their adjoints"},
                {"size", options.size},
                {"repeats", options.repeats},
                {"results", rows}},
               options.json, options.output);
  end_by_verdict(rows, {"name", "backend"});
}

std::function<void()> declare_operators(Command& line) {
  auto options = std::make_shared<OperatorOptions>();
  line.add_option("--size", options->size, "Voxels along x, y and z (default: 200 200 300)")
      .expected(3)
      .within(1, 4096);
  line.add_option("--backend", options->backends, "cpu, cuda (default: both)").one_of({"cpu", "cuda"});
  line.add_option("--repeats", options->repeats, "Timed runs, of which the median counts (default: 11)")
      .within(1, 1000);
  line.add_option("-o,--out", options->output, "Write the results as JSON");
  line.add_flag("--json", options->json, "Print JSON");
  line.footer(
      "Example: tofstream-bench operators -o operators.json\n"
      "Exit code 1 where a bound does not hold, or the backends differ.");
  return [options] { bench_operators(*options); };
}

TOFSTREAM_BENCH("operators", "Operators on the image, and their adjoints", declare_operators);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
