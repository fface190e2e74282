// Images moved onto another grid: exact by right angles and on straight slopes, means where the grid is coarser; and
// affine maps, and smoothing that knows the border.
#include <cmath>
#include <cstdint>
#include <numbers>
#include <stdexcept>

#include <doctest/doctest.h>

#include "kernels/analysis/block_means.hpp"
#include "kernels/filter/smooth_within.hpp"
#include "kernels/grid/resample.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

/// A quarter_turn turn about z: x goes to y, y to -x.
const Affine quarter_turn{{0, -1, 0, 1, 0, 0, 0, 0, 1}, {}};

Affine turn_about_z(double degrees) {
  const double angle = degrees * std::numbers::pi / 180, c = std::cos(angle), s = std::sin(angle);
  return {{c, -s, 0, s, c, 0, 0, 0, 1}, {5, -3, 2}};
}

/// Each voxel its own number.
Image numbered_image(const Grid& grid) {
  Image image = Image::zeros(grid);
  for (std::int64_t v = 0; v < image.voxels.size(); ++v) image.voxels[v] = static_cast<float>(v + 1);
  return image;
}

void check_near(Vec3d a, Vec3d b) {
  for (int axis = 0; axis < 3; ++axis) CHECK(a[axis] == approx(b[axis]).epsilon(1e-12));
}

}  // namespace

TEST_CASE("affine maps follow one another, and their inverses lead back") {
  const Affine skew{{2, 0.3, 0, -0.1, 1.5, 0.2, 0.4, 0, 0.7}, {10, -20, 30}};
  const Vec3d p{3, -4, 5};
  check_near(skew.inverse()(skew(p)), p);
  check_near(skew.after(quarter_turn)(p), skew(quarter_turn(p)));
  check_near(quarter_turn(p), {4, 3, 5});
  CHECK(quarter_turn.determinant() == 1);
  CHECK(Affine{}.is_shift());
  CHECK_FALSE(quarter_turn.is_shift());
  const Affine flat{{1, 2, 3, 2, 4, 6, 0, 0, 1}, {}};
  CHECK(flat.is_singular());
  CHECK_THROWS_AS((void)flat.inverse(), std::invalid_argument);
  CHECK(Affine{{NAN, 0, 0, 0, 1, 0, 0, 0, 1}, {}}.is_singular());
  CHECK(Affine{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {INFINITY, 0, 0}}.is_singular());
}

TEST_CASE("an image turned by a right angle has its own voxels, each at its new place") {
  const Image image = numbered_image({{4, 3, 2}, {2, 3, 5}, {-10, 20, 30}});
  const Grid grid = grid_around(image.grid, quarter_turn);
  CHECK(grid == Grid{{3, 4, 2}, {3, 2, 5}, {-26, -10, 30}});
  const Image turned = resampled(image, quarter_turn, grid);
  for (int k = 0; k < 2; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 4; ++i)
        CHECK(turned.voxels[grid.index(2 - j, i, k)] == approx(image.voxels[image.grid.index(i, j, k)]).epsilon(1e-6));
  CHECK(grid_around(image.grid, {}) == image.grid);
}

TEST_CASE("a slope is the same slope wherever the grid lies, within the image; beyond it is nothing") {
  Image image = Image::zeros(Grid::centred(30, 30, 20, {2, 2, 3}));
  const auto slope = [](Vec3d p) { return 5 + 0.2 * p.x - 0.1 * p.y + 0.05 * p.z; };
  for (int k = 0; k < 20; ++k)
    for (int j = 0; j < 30; ++j)
      for (int i = 0; i < 30; ++i)
        image.voxels[image.grid.index(i, j, k)] = static_cast<float>(slope(image.grid.centre(i, j, k).as<double>()));
  const Affine pose = turn_about_z(17);
  const Grid grid = grid_around(image.grid, pose, 5.0);
  CHECK(grid.voxel_mm == Vec3{4, 4, 3});
  const Image turned = resampled(image, pose, grid);
  const Vec3 centre = grid.centre(grid.size[0] / 2, grid.size[1] / 2, grid.size[2] / 2);
  CHECK(turned.voxels[grid.index(grid.size[0] / 2, grid.size[1] / 2, grid.size[2] / 2)] ==
        approx(slope(pose.inverse()(centre.as<double>()))).epsilon(1e-6));
  CHECK(turned.voxels[grid.index(0, 0, 0)] == 0);
}

TEST_CASE("on a coarser grid an image has the means of its voxels") {
  const Image image = numbered_image(Grid::centred(8, 6, 4, {1, 1, 2}));
  const Grid grid = grid_around(image.grid, {}, 2.0);
  CHECK(grid.size[0] == 4);
  CHECK(grid.size[2] == 4);
  const Image coarse = resampled(image, {}, grid), means = block_means(image, {2, 2, 1});
  CHECK(grid == means.grid);
  for (std::int64_t v = 0; v < means.voxels.size(); ++v)
    CHECK(coarse.voxels[v] == approx(means.voxels[v]).epsilon(1e-6));
}

TEST_CASE("a grid grows by whole voxels, as far as another image has values") {
  const Grid grid = Grid::centred(10, 10, 10, {2, 2, 2});
  Image bed = Image::zeros({{20, 3, 10}, {2, 2, 2}, {-19, 9, -9}});
  CHECK(grid_with(grid, bed, {}) == grid);
  bed.voxels[bed.grid.index(0, 2, 0)] = 1;  // at y = 13, x = -19
  const Grid larger = grid_with(grid, bed, {});
  CHECK(larger.size[0] == 15);
  CHECK(larger.size[1] == 12);
  CHECK(larger.size[2] == 10);
  CHECK(larger.origin_mm == Vec3{-19, -9, -9});
}

TEST_CASE("smoothing within the border keeps what is uniform, and smooths what is not") {
  Image image = Image::filled(Grid::centred(12, 10, 8, {2, 2, 3}), 0.096F);
  smooth_within(image, {6, 6, 6});
  for (const float voxel : image.voxels.span()) CHECK(voxel == approx(0.096F));
  Image point = Image::zeros(Grid::centred(41, 41, 41, {2, 2, 2}));
  point.voxels[point.grid.index(20, 20, 20)] = 1;
  smooth_within(point, {6, 6, 6});
  double sum = 0, squares = 0;
  for (int k = 0; k < 41; ++k)
    for (int j = 0; j < 41; ++j)
      for (int i = 0; i < 41; ++i) {
        const auto value = static_cast<double>(point.voxels[point.grid.index(i, j, k)]);
        sum += value;
        squares += value * 4 * (i - 20) * (i - 20);
      }
  CHECK(sum == approx(1.0).epsilon(1e-4));
  CHECK(std::sqrt(squares / sum) == approx(6 / (2 * std::sqrt(2 * std::numbers::ln2))).epsilon(1e-3));
}
// SPDX-License-Identifier: Apache-2.0
