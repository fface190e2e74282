// The rotation itself: quarter turns are permutations, counts are kept, and the camera's axes are where they are said
// to be.
#include "tests/kernels/spect/spect_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

/// The image turned by a quarter about the axis: what a camera at 0 degrees saw, one at 90 degrees sees.
std::vector<float> quarter_turned(const Grid& grid, const std::vector<float>& image) {
  std::vector<float> turned(image.size());
  const int n = grid.size[0];
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i)  // (x, y) goes to (y, -x)
        turned[static_cast<std::size_t>(grid.index(j, n - 1 - i, k))] =
            image[static_cast<std::size_t>(grid.index(i, j, k))];
  return turned;
}

}  // namespace

TEST_CASE("Views at quarter turns are permutations of the image, bit for bit, for odd and even sizes") {
  for (const int n : {8, 9}) {
    for (const float voxel : {4.0f, 4.7951998f}) {
      CAPTURE(n);
      CAPTURE(voxel);
      const Grid grid = Grid::centred(n, n, 5, {voxel, voxel, voxel});
      const ViewSet set = circular_views(4, n, 5, voxel);
      const auto projector = make_rotation_projector(grid, set, {}, Backend::cpu);
      std::vector<float> image = random_image(*projector, 3);
      const std::vector<float> first = forward_of(*projector, view_batch(set, {0}), image);
      for (int w = 0; w < 5; ++w)
        for (int u = 0; u < n; ++u) {
          double sum = 0;
          for (int j = 0; j < n; ++j) sum += double{image[static_cast<std::size_t>(grid.index(n - 1 - u, j, w))]};
          CHECK(first[static_cast<std::size_t>(w * n + u)] ==
                approx(sum * mL_per_mm3 * double{grid.voxel_volume()}).epsilon(1e-6));
        }
      for (int quarter = 1; quarter < 4; ++quarter) {
        image = quarter_turned(grid, image);
        CHECK(same_bits(forward_of(*projector, view_batch(set, {quarter}), image), first));
      }
    }
  }
}

TEST_CASE("A camera's columns and rows lie along u and w of its place") {
  const Grid grid = Grid::centred(32, 32, 24, {4, 4, 4});
  ViewSet set = circular_views(12, 32, 24);
  for (ViewPlace& place : set.places) {
    place.centre_u_mm = 5;
    place.centre_w_mm = -3;
  }
  const Vec3 at = {22, -14, 9};
  const auto projector = make_rotation_projector(grid, set, {}, Backend::cpu);
  const std::vector<float> views = forward_of(*projector, view_batch(set), blob_image(grid, at, 8));
  for (int v = 0; v < 12; ++v) {
    const double t = double{set.places[static_cast<std::size_t>(v)].angle_deg} * std::numbers::pi / 180;
    const ViewMoments moments = moments_of(views, set, v);
    CHECK(std::abs(moments.u - (-22 * std::cos(t) - 14 * std::sin(t) - 5)) < 0.05);
    CHECK(std::abs(moments.w - (9 + 3)) < 0.05);
  }
}

TEST_CASE("The interpolating rotation keeps the counts of a Gaussian of 2.5 voxels to 1e-3") {
  const Grid grid = Grid::centred(40, 40, 24, {4, 4, 4});
  ViewSet set = circular_views(91, 48, 32);
  for (int v = 0; v < 91; ++v) set.places[static_cast<std::size_t>(v)].angle_deg = static_cast<float>(v);
  const auto projector = make_rotation_projector(grid, set, {}, Backend::cpu);
  double worst = 0;
  for (const Vec3 at :
       {Vec3{0, 0, 0}, Vec3{2, 0, 1}, Vec3{1, 1, 2}, Vec3{13, -22, 1}, Vec3{-28, 9, 3}, Vec3{20, 21, -2}}) {
    const std::vector<float> image = blob_image(grid, at, 10);
    const double expected = sum_of(image) * mL_per_mm3 * double{grid.voxel_volume()};
    const std::vector<float> views = forward_of(*projector, view_batch(set), image);
    for (int v = 0; v < 91; ++v) worst = std::max(worst, std::abs(moments_of(views, set, v).counts / expected - 1));
  }
  CHECK(worst < 1e-3);
}

TEST_CASE("The conserving rotation keeps each voxel's counts") {
  for (const float edge : {4.0f, 2.3f}) {
    const Grid grid = Grid::centred(13, 13, 5, {edge, edge, edge});
    ViewSet set = circular_views(7, 24, 16);
    const auto projector = make_rotation_projector(grid, set, {.rotation = Rotation::conserving}, Backend::cpu);
    const Image support = projector->support();
    for (std::int64_t v = 0; v < grid.voxels(); v += 11) {
      if (support.voxels[v] == 0) continue;
      std::vector<float> image(static_cast<std::size_t>(grid.voxels()), 0.0f);
      image[static_cast<std::size_t>(v)] = 1;
      const std::vector<float> views = forward_of(*projector, view_batch(set), image);
      for (int view = 0; view < 7; ++view)
        CHECK(moments_of(views, set, view).counts == approx(mL_per_mm3 * double{grid.voxel_volume()}).epsilon(1e-5));
    }
  }
}

TEST_CASE("Voxels smaller than a pixel are seen by all lattice points of the pixel") {
  const Grid grid = Grid::centred(26, 26, 10, {2, 2, 2});
  const ViewSet set = circular_views(9, 20, 10);
  const auto projector = make_rotation_projector(grid, set, {}, Backend::cpu);
  const ViewBatch batch = view_batch(set);
  const std::vector<float> seen =
      back_of(*projector, batch, std::vector<float>(static_cast<std::size_t>(batch.count), 1.0f));
  const Image support = projector->support();
  double low = 1e9, high = 0;
  for (std::int64_t v = 0; v < grid.voxels(); ++v)
    if (support.voxels[v] != 0) {
      low = std::min(low, double{seen[static_cast<std::size_t>(v)]});
      high = std::max(high, double{seen[static_cast<std::size_t>(v)]});
    }
  CHECK(low > 0.8 * high);
  CHECK_THROWS_WITH_AS(make_rotation_projector(Grid::centred(26, 26, 10, {1, 1, 1}), set, {}, Backend::cpu),
                       doctest::Contains("conserving"), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
