// The grid that a camera's views choose, and views that the projector does not take.
#include "tests/kernels/spect/spect_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

TEST_CASE("A camera's image has a voxel a pixel and holds what the camera sees") {
  ViewSet set = circular_views(6, 32, 20);
  CHECK(choose_view_grid(set, {}) == Grid::centred(32, 32, 20, {4, 4, 4}));
  CHECK(choose_view_grid(set, {.voxel_mm = Vec3{2, 2, 4}}) == Grid::centred(64, 64, 20, {2, 2, 4}));
  for (ViewPlace& place : set.places) place.centre_w_mm = 30;
  set.places[0].centre_u_mm = 2;
  CHECK(choose_view_grid(set, {}).centre(0, 0, 0).z == approx(30 - 38));
  CHECK(choose_view_grid(set, {}).size[0] == 32);
  set.places[0].centre_u_mm = -21;
  CHECK(choose_view_grid(set, {}).size[0] == 42);
  CHECK_THROWS_WITH_AS(choose_view_grid(set, {.voxel_mm = Vec3{0.01f, 1, 1}}), doctest::Contains("voxel_mm"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(choose_view_grid(set, {.blobs = true}), doctest::Contains("blobs"), std::invalid_argument);
}

TEST_CASE("The rotation projector refuses views that are not its camera's") {
  const Grid grid = Grid::centred(8, 8, 4, {4, 4, 4});
  const ViewSet set = circular_views(6, 8, 4);
  const auto projector = make_rotation_projector(grid, set, {}, Backend::cpu);
  std::vector<float> image(static_cast<std::size_t>(grid.voxels()), 1.0f), values(1000, 1.0f);
  CHECK_THROWS_AS(projector->forward(view_batch(circular_views(6, 9, 4)).view(), image.data(), values.data()),
                  std::invalid_argument);
  CHECK_THROWS_AS(projector->back(view_batch(circular_views(5, 8, 4)).view(), values.data(), image.data()),
                  std::invalid_argument);
  ViewSet wrong = set;
  wrong.kind = ViewKind::histo_image;
  wrong.pixel_mm.z = 4;
  CHECK_THROWS_WITH_AS(make_rotation_projector(grid, wrong, {}, Backend::cpu), doctest::Contains("histo-images"),
                       std::invalid_argument);
  wrong = set;
  wrong.places[1].tilt_deg = 3;
  CHECK_THROWS_WITH_AS(make_rotation_projector(grid, wrong, {}, Backend::cpu), doctest::Contains("tilted"),
                       std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
