// Figures of merit against numbers worked out by hand.
#include <limits>

#include "kernels/analysis/compare.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

Image image_of(const std::vector<float>& values) {
  return {Grid::centred(static_cast<int>(values.size()), 1, 1, {1, 1, 1}), Buffer<float>::from(values)};
}

}  // namespace

TEST_CASE("normalised RMS is the RMS difference over the range of the reference") {
  const Comparison c = compare(image_of({1, 2, 3, 8}), image_of({1, 2, 5, 4}));
  CHECK(c.rms == approx(std::sqrt((4.0 + 16.0) / 4)));
  CHECK(c.nrms == approx(std::sqrt(5.0) / 4));
  CHECK(c.max_abs == 4);
  CHECK(c.mean == 3.5);
  CHECK(c.reference_mean == 3);
  CHECK(c.correlation == approx(10 / std::sqrt(29.0 * 10)));
}

TEST_CASE("identical, scaled and constant images") {
  const Image a = image_of({1, 2, 3, 4}), twice = image_of({2, 4, 6, 8});
  CHECK(compare(a, a).nrms == 0);
  CHECK(compare(a, a).correlation == approx(1));
  CHECK(compare(twice, a).correlation == approx(1));
  const Image flat = image_of({2, 2, 2, 2});
  CHECK(compare(flat, flat).nrms == 0);
  CHECK(compare(flat, flat).correlation == 1);
  CHECK(compare(a, flat).nrms == std::numeric_limits<double>::infinity());
  CHECK(compare(a, flat).correlation == 0);
}

TEST_CASE("grids that do not match are named, and so are values that are not finite") {
  const Image a = image_of({1, 2}), b = image_of({1, 2, 3});
  CHECK_THROWS_WITH(compare(a, b), "images differ in size: 2 x 1 x 1 and 3 x 1 x 1 voxels");
  Image voxel = image_of({1, 2});
  voxel.grid.voxel_mm.y = 2;
  CHECK_THROWS_WITH(compare(a, voxel), "images differ in voxel size: [1, 1, 1] and [1, 2, 1] mm");
  Image moved = image_of({1, 2});
  moved.grid.origin_mm.z = 3;
  CHECK_THROWS_WITH(compare(a, moved),
                    "images differ in position: the centre of voxel 0 is [-0.5, 0, 0] and [-0.5, 0, 3] mm");
  moved.grid.origin_mm.z = 5e-4f;  // as by rounding in a file
  CHECK(compare(a, moved).nrms == 0);
  CHECK_THROWS_WITH(compare(a, image_of({1, std::nanf("")})),
                    "the reference holds a value that is not finite, at voxel 1");
}
// SPDX-License-Identifier: Apache-2.0
