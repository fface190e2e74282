// How far an update moves an image, against closed forms, on both backends.
#include <cmath>
#include <limits>

#include <tbb/global_control.h>

#include "kernels/em/relative_change.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

namespace {

Image changed_image(const std::vector<float>& values, Memory memory) {
  return Image{Grid::centred(static_cast<int>(values.size()), 1, 1, {1, 1, 1}), Buffer<float>::from(values)}.to(memory);
}

void check_relative_change(Memory memory) {
  const auto change = [&](const std::vector<float>& before, const std::vector<float>& after) {
    return relative_change(changed_image(before, memory), changed_image(after, memory));
  };
  CHECK(change({3, 0, 4}, {3, 0, 4}) == 0);
  CHECK(change({3, 0, 4}, {6, 0, 4}) == approx(0.6).epsilon(1e-12));
  CHECK(change({3, 0, 4}, {3, -5, 4}) == approx(1).epsilon(1e-12));
  CHECK(change({0, 0}, {0, 0}) == 0);
  CHECK(change({0, 0}, {0, 1e-3f}) == std::numeric_limits<double>::infinity());
  // A change of one bit in many voxels of the same value is seen.
  const Grid grid = Grid::centred(70, 60, 50, {1, 1, 1});
  const float next = std::nextafter(7.0f, 8.0f);
  CHECK(relative_change(Image::filled(grid, 7, memory), Image::filled(grid, next, memory)) ==
        approx((static_cast<double>(next) - 7) / 7).epsilon(1e-9));
  CHECK_THROWS_WITH(change({1, 2}, {1, 2, 3}), doctest::Contains("another grid"));
}

}  // namespace

TEST_CASE("the relative change is the norm of the difference over the norm of what was there before") {
  check_relative_change(Memory::host);
}

TEST_CASE("the relative change has the same bits on any number of threads") {
  const Grid grid = Grid::centred(90, 80, 70, {1, 1, 1});
  Image before = Image::zeros(grid), after = Image::zeros(grid);
  for (std::int64_t v = 0; v < grid.voxels(); ++v) {
    before.voxels[v] = static_cast<float>(v % 101) * 0.1f;
    after.voxels[v] = static_cast<float>(v % 103) * 0.1f;
  }
  const double many = relative_change(before, after);
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  CHECK(relative_change(before, after) == many);
}

TEST_CASE("the relative change on CUDA is the CPU's") {
  if (!gpu_or_skip()) return;
  check_relative_change(Memory::device);
}
// SPDX-License-Identifier: Apache-2.0
