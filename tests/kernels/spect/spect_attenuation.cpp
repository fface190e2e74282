// Attenuation against closed forms: a disc, a point in a cylinder, and chords without attenuation.
#include "tests/kernels/spect/spect_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

/// A disc of height 1 along the axis, with the share of each voxel that lies in it.
Image disc_image(const Grid& grid, double radius_mm) {
  Image image = Image::zeros(grid);
  constexpr int parts = 8;
  for (int j = 0; j < grid.size[1]; ++j)
    for (int i = 0; i < grid.size[0]; ++i) {
      int inside = 0;
      for (int b = 0; b < parts; ++b)
        for (int a = 0; a < parts; ++a) {
          const Vec3d at = grid.centre(i, j, 0).as<double>();
          const double x = at.x + ((a + 0.5) / parts - 0.5) * double{grid.voxel_mm.x};
          const double y = at.y + ((b + 0.5) / parts - 0.5) * double{grid.voxel_mm.y};
          if (std::hypot(x, y) <= radius_mm) ++inside;
        }
      for (int k = 0; k < grid.size[2]; ++k)
        image.voxels[grid.index(i, j, k)] = static_cast<float>(inside) / (parts * parts);
    }
  return image;
}

Image scaled(Image image, float factor) {
  for (float& value : image.voxels.span()) value *= factor;
  return image;
}

}  // namespace

TEST_CASE("A disc is seen as its attenuated chords, and without attenuation as its chords") {
  constexpr double radius_mm = 100;
  const Grid grid = Grid::centred(60, 60, 3, {4, 4, 4});
  const ViewSet set = circular_views(9, 60, 3, 4, 150);
  const Image disc = disc_image(grid, radius_mm);
  for (const double mu : {0.0, 0.005, 0.015}) {
    SpectSettings settings;
    if (mu > 0) settings.mu_per_mm = std::make_shared<const Image>(scaled(disc, static_cast<float>(mu)));
    const auto projector = make_rotation_projector(grid, set, settings, Backend::cpu);
    const auto views = forward_of(*projector, view_batch(set), disc.voxels.to_vector());
    for (int v = 0; v < 9; ++v)
      for (int u = 0; u < 60; ++u) {
        const double from = std::abs((u - 29.5) * 4);
        if (from > radius_mm - 2 * 4) continue;
        const double half = std::sqrt(radius_mm * radius_mm - from * from);
        const double expected = mu > 0 ? (1 - std::exp(-2 * mu * half)) / mu : 2 * half;
        CHECK(double{views[static_cast<std::size_t>(v * 180 + 60 + u)]} ==
              approx(expected * 16 * mL_per_mm3).epsilon(0.01));
      }
  }
}

TEST_CASE("A point in a cylinder is attenuated along its path to the camera") {
  constexpr double mu = 0.012, cylinder_mm = 50, blob_mm = 5;
  const Grid grid = Grid::centred(40, 40, 12, {3, 3, 4});
  const ViewSet set = circular_views(10, 48, 20, 3, 150);
  SpectSettings settings;
  settings.mu_per_mm = mu_cylinder(static_cast<float>(mu), cylinder_mm);
  // Voxels on the edge count with their shares.
  settings.mu_per_mm =
      std::make_shared<const Image>(scaled(disc_image(settings.mu_per_mm->grid, cylinder_mm), static_cast<float>(mu)));
  const auto open = make_rotation_projector(grid, set, {}, Backend::cpu);
  const auto attenuated = make_rotation_projector(grid, set, settings, Backend::cpu);
  for (int v = 0; v < 10; ++v)
    for (const double near_mm : {-20.0, 0.0, 15.0}) {
      const double t = double{set.places[static_cast<std::size_t>(v)].angle_deg} * std::numbers::pi / 180;
      const Vec3 at = Vec3d{near_mm * std::sin(t), near_mm * std::cos(t), 2}.as<float>();
      const auto image = blob_image(grid, at, blob_mm);
      const ViewBatch batch = view_batch(set, {v});
      const double share = sum_of(forward_of(*attenuated, batch, image)) / sum_of(forward_of(*open, batch, image));
      // The mean over the blob, of which the path off the middle is shorter by u^2 / (2 R).
      const double mean =
          std::exp(0.5 * mu * mu * blob_mm * blob_mm) / std::sqrt(1 - mu * blob_mm * blob_mm / cylinder_mm);
      CHECK(share == approx(std::exp(-mu * (cylinder_mm - near_mm)) * mean).epsilon(0.005));
    }
}

TEST_CASE("What lies between the image and the camera attenuates, and what lies behind does not") {
  const Grid grid = Grid::centred(12, 12, 3, {4, 4, 4});
  ViewSet set = circular_views(4, 12, 3, 4, 100);
  Image wall = Image::zeros({{10, 1, 3}, {20, 4, 20}, {-90, 60, -20}});  // a plate 4 mm thick at y = 60
  for (float& value : wall.voxels.span()) value = 0.05f;
  const auto projector =
      make_rotation_projector(grid, set, {.mu_per_mm = std::make_shared<const Image>(std::move(wall))}, Backend::cpu);
  const auto open = make_rotation_projector(grid, set, {}, Backend::cpu);
  const auto image = random_image(*projector, 4);
  const auto with = forward_of(*projector, view_batch(set), image), without = forward_of(*open, view_batch(set), image);
  const double front = moments_of(with, set, 0).counts / moments_of(without, set, 0).counts;
  CHECK(front == approx(std::exp(-0.05 * 4)).epsilon(1e-3));
  CHECK(moments_of(with, set, 2).counts == approx(moments_of(without, set, 2).counts).epsilon(1e-6));
}

TEST_CASE("A mu map that cannot be is refused") {
  const Grid grid = Grid::centred(12, 12, 3, {4, 4, 4});
  Image mu = Image::zeros(grid);
  mu.voxels[3] = -1;
  CHECK_THROWS_WITH_AS(
      make_rotation_projector(grid, circular_views(4, 12, 3),
                              {.mu_per_mm = std::make_shared<const Image>(std::move(mu))}, Backend::cpu),
      doctest::Contains("negative"), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
