// Profiles: exact on a linear image, borders and lines that leave the image.
#include "kernels/analysis/profile.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

TEST_CASE("a profile through a linear image is linear") {
  const Grid grid = {{7, 5, 4}, {2, 3, 4}, {-3, 1, 10}};
  Image image = Image::zeros(grid);
  const auto value = [](Vec3 p) { return 2 * p.x - p.y + 0.5f * p.z + 3; };
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 5; ++j)
      for (int i = 0; i < 7; ++i) image.voxels[grid.index(i, j, k)] = value(grid.centre(i, j, k));
  const Vec3 from{-2.5f, 2, 21}, to{8, 12.5f, 10.5f};
  const auto values = profile(image, from, to, 11);
  REQUIRE(values.size() == 11);
  for (std::size_t i = 0; i < 11; ++i)
    CHECK(values[i] == approx(value(from + static_cast<float>(i) / 10 * (to - from))).epsilon(1e-6));
}

TEST_CASE("a profile keeps the border's value half a voxel outwards, and goes no farther") {
  Image image = Image::zeros(Grid::centred(3, 1, 1, {2, 2, 2}));
  image.voxels[0] = 5;
  image.voxels[2] = 7;
  CHECK(profile(image, {-3, 0.9f, 0}, {3, -0.9f, 0}, 3) == std::vector<double>{5, 0, 7});
  CHECK_THROWS_AS(profile(image, {-3.1f, 0, 0}, {3, 0, 0}, 3), std::invalid_argument);
  CHECK_THROWS_AS(profile(image, {-3, 0, 0}, {3, 0, 0}, 1), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
