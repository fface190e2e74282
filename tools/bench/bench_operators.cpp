// `tofstream-bench operators`: each operator on the image and its adjoint, on an image of any size.
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "kernels/operator/gaussian_operator.hpp"
#include "kernels/psf/psf_operator.hpp"
#include "kernels/warp/warp.hpp"
#include "tools/bench/bench_projecting.hpp"
#include "tools/bench/image_work.hpp"

namespace tofstream::command {

namespace {

constexpr double operator_bound_s = 1.5e-3;

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

void measure_operators(ImageRows& rows) {
  const Image image = test_image(rows.grid()), there = image.to(rows.memory());
  for (const OperatorCase& each : operator_cases()) {
    const auto image_operator = each.make(rows.grid(), rows.backend());
    for (const bool is_adjoint : {false, true}) {
      const auto apply = [is_adjoint](const ImageOperator& to_apply, const Image& x) {
        return is_adjoint ? to_apply.adjoint(x) : to_apply.forward(x);
      };
      Image made;
      rows.add({.name = fmt::format("{}{}", each.name, is_adjoint ? ", adjoint" : ""),
                .run = [&] { made = apply(*image_operator, there); },
                .bound_s = each.bound_s},
               made, [&] { return apply(*each.make(rows.grid(), Backend::cpu), image); });
    }
  }
}

std::function<void()> declare_operators(Command& line) {
  return declare_image_bench(line, "operators", "operators on an image of 2 mm voxels, and their adjoints",
                             measure_operators);
}

TOFSTREAM_BENCH("operators", "Operators on the image, and their adjoints", declare_operators);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
