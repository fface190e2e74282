// Widths of point sources that are known come back, wherever they are.
#include "kernels/psf/point_source_fit.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

constexpr double sigma_per_fwhm = 0.42466090014400953;

struct SimulatedSource {
  Vec3d centre;
  Resolution fwhm;
  double activity = 1000;
};

// What a scanner of perfect voxels shows: the mean of the Gaussian over each voxel, by points within it.
Image simulated(const Grid& grid, const std::vector<SimulatedSource>& sources, double noise = 0) {
  constexpr int points = 4;  // along each edge
  Image image = Image::zeros(grid);
  for (const SimulatedSource& source : sources) {
    const double r = std::hypot(source.centre.x, source.centre.y);
    const double c = r > 0 ? source.centre.x / r : 1, s = r > 0 ? source.centre.y / r : 0;
    const Vec3d sigma = sigma_per_fwhm * Vec3d{source.fwhm.radial_mm, source.fwhm.tangential_mm, source.fwhm.axial_mm};
    for (int k = 0; k < grid.size[2]; ++k)
      for (int j = 0; j < grid.size[1]; ++j)
        for (int i = 0; i < grid.size[0]; ++i) {
          const Vec3d at = grid.centre(i, j, k).as<double>() - source.centre;
          if (norm(at) > 25) continue;
          double sum = 0;
          for (int point = 0; point < points * points * points; ++point) {
            const auto within = [&](int n, float edge) {
              return ((n % points + 0.5) / points - 0.5) * static_cast<double>(edge);
            };
            const Vec3d d = at + Vec3d{within(point, grid.voxel_mm.x), within(point / points, grid.voxel_mm.y),
                                       within(point / points / points, grid.voxel_mm.z)};
            const double u = (c * d.x + s * d.y) / sigma.x, v = (c * d.y - s * d.x) / sigma.y, w = d.z / sigma.z;
            sum += std::exp(-0.5 * (u * u + v * v + w * w));
          }
          image.voxels[grid.index(i, j, k)] += static_cast<float>(source.activity * sum / (points * points * points));
        }
  }
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal(0, static_cast<float>(noise));
  if (noise > 0)
    for (float& value : image.voxels.span()) value += normal(random);
  return image;
}

void check_widths(const PointSource& found, const SimulatedSource& source, double within) {
  CAPTURE(source.centre.x);
  CAPTURE(source.centre.y);
  CHECK(norm(found.centre_mm - source.centre) < 0.1);
  CHECK(found.fwhm.radial_mm == approx(source.fwhm.radial_mm).epsilon(within));
  CHECK(found.fwhm.tangential_mm == approx(source.fwhm.tangential_mm).epsilon(within));
  CHECK(found.fwhm.axial_mm == approx(source.fwhm.axial_mm).epsilon(within));
}

}  // namespace

TEST_CASE("fits find the widths of point sources at 0, 100 and 200 mm, between voxels and in noise") {
  Grid grid = Grid::centred(124, 22, 22, {2, 2, 2});
  grid.origin_mm.x = -23;
  const std::vector<SimulatedSource> sources = {{{0, 0, 0}, {4.2, 4.2, 5}, 1200},
                                                {{100.7, 0.4, -0.6}, {6, 4.6, 5.4}, 1100},
                                                {{200.2, -0.9, 0.5}, {8.5, 5.2, 6.3}, 1000}};
  for (const double noise : {0.0, 10.0}) {
    CAPTURE(noise);
    auto found = fit_point_sources(simulated(grid, sources, noise), {.threshold = 0.3, .window_mm = 18});
    REQUIRE(found.size() == sources.size());
    std::ranges::sort(found, {}, &PointSource::radius_mm);
    for (std::size_t i = 0; i < sources.size(); ++i) check_widths(found[i], sources[i], noise > 0 ? 0.03 : 0.01);
    CHECK(found[1].residual == approx(noise / 1100).epsilon(0.2).scale(0.01));
    CHECK(found[2].radius_mm() == approx(200.2).epsilon(1e-3));
  }
}

TEST_CASE("outwards is the source's own direction") {
  Grid grid = Grid::centred(26, 26, 20, {2, 2, 2});
  grid.origin_mm = {60, -110, -19};
  const SimulatedSource source{{85, -84, 1}, {9, 5, 6}};
  const auto found = fit_point_sources(simulated(grid, {source}), {.window_mm = 18});
  REQUIRE(found.size() == 1);
  check_widths(found[0], source, 0.02);
}

TEST_CASE("what is no point source, or cannot be told from another, is refused") {
  const Grid grid = Grid::centred(40, 30, 22, {2, 2, 2});
  const auto refused = [&](const Image& image, PointSourceSearch search, const char* words) {
    CHECK_THROWS_WITH(fit_point_sources(image, search), doctest::Contains(words));
  };
  const SimulatedSource source{{3, 2, 0}, {6, 6, 6}};
  refused(Image::zeros(grid), {}, "no voxel is positive");
  refused(simulated(grid, {source}), {.window_mm = 25}, "cut by the image's border along z");
  refused(simulated(grid, {source}), {.window_mm = 3}, "too few voxels");
  refused(simulated(grid, {source}), {.threshold = 1.5}, "between 0 and 1");
  refused(simulated(grid, {source, {{-22, 2, 0}, {6, 6, 6}}}), {.window_mm = 15}, "their windows of 15 mm meet");
  refused(simulated(grid, {{{3, 2, 0}, {1.5, 1.5, 6}}}), {.window_mm = 15}, "take smaller voxels");
  refused(simulated(grid, {{{3, 2, 0}, {18, 18, 18}}}), {.window_mm = 15}, "mm wide, and the window");
}
// SPDX-License-Identifier: Apache-2.0
