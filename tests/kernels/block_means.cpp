#include "kernels/analysis/block_means.hpp"

#include <numeric>
#include <stdexcept>

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"

using namespace tofstream;

TEST_CASE("block means are the same values in the mean, at the same places") {
  Image image = Image::zeros(Grid::centred(5, 4, 3, {2, 3, 4}));
  std::iota(image.voxels.span().begin(), image.voxels.span().end(), -3.0f);
  CHECK(shrink_factor(image.grid, 60) == 1);
  CHECK(shrink_factor(image.grid, 59) == 2);
  CHECK(shrink_factor(image.grid, 0) == 5);
  const Image small = block_means(image, 2);
  CHECK(small.grid.size[0] == 3);
  CHECK(small.grid.size[1] == 2);
  CHECK(small.grid.size[2] == 2);
  // A block's centre and value are the means of its voxels' centres and values; a ramp shows both.
  CHECK(small.voxels.span()[0] == approx(-3 + (1 + 5 + 20) / 2.0));
  CHECK(small.grid.centre(0, 0, 0).x == approx(0.5 * (image.grid.centre(0, 0, 0).x + image.grid.centre(1, 0, 0).x)));
  CHECK(small.grid.centre(1, 1, 0).y == approx(0.5 * (image.grid.centre(0, 2, 0).y + image.grid.centre(0, 3, 0).y)));
  // At the far corner one voxel in x and in z is left of the block.
  CHECK(small.voxels.span()[11] == approx(-3 + 59 - 2.5));
  CHECK_THROWS_AS(block_means(image, 0), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
