// Single scatter against STIR's: the stored result of its own scatter test (GitHub UCL/STIR, commit 9a59610,
// recon_test_pack, Apache-2.0).
#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/ring/scatter/single_scatter.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/interop.hpp"

using namespace tofstream;

TEST_CASE("single scatter has the shape of STIR's in every view and ring of a cylinder off the axis") {
  const std::filesystem::path folder = interop_folder_or_skip();
  if (folder.empty()) return;
  constexpr int views = 32, rings = 8, distances = 35, detectors_a_ring = 64;
  std::vector<float> stored(static_cast<std::size_t>(views) * rings * distances);
  std::ifstream file(folder / "scatter" / "stir_cylinder" / "scatter_cylinder.s", std::ios::binary);
  file.read(reinterpret_cast<char*>(stored.data()), static_cast<std::streamsize>(stored.size() * sizeof(float)));
  REQUIRE(file.good());

  // z from the middle of the scanner, 68.67 mm from its first ring.
  constexpr double radius = 451.5, ring_mm = 19.62, middle_mm = 68.67;
  const Vec3d middle{20, 10, 63.46 - middle_mm};
  const Grid grid = {{64, 64, 40}, {4, 4, 4}, {-106, -116, -83}};
  Image mu = Image::zeros(grid);
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i) {
        int inside = 0;
        constexpr int parts = 4;
        for (int n = 0; n < parts * parts * parts; ++n) {
          const auto offset = [](int part) { return 4 * ((part + 0.5) / parts - 0.5); };
          const Vec3d at = grid.centre(i, j, k).as<double>() - middle +
                           Vec3d{offset(n % parts), offset(n / parts % parts), offset(n / parts / parts)};
          inside += std::hypot(at.x, at.y) <= 100 && std::abs(at.z) <= 55 ? 1 : 0;
        }
        mu.voxels[grid.index(i, j, k)] = 0.0096f * static_cast<float>(inside) / (parts * parts * parts);
      }
  Image activity = mu;  // 1 in the same cylinder
  for (float& value : activity.voxels.span()) value /= 0.0096f;
  const ScatterDetectors detectors{.radius_mm = radius,
                                   .energy = {.low_keV = 350, .high_keV = 650, .resolution = 0.22}};
  const SingleScatter scatter(mu, detectors);
  ScatterSampling sampling;
  sampling.lattice = {{37, views, rings, rings, 1}, 20, static_cast<float>(ring_mm), 1, {}};
  const ScatterEstimate estimate = scatter.estimate(activity, sampling);

  const auto position = [&](int detector, int ring) {
    const double angle = 2 * std::numbers::pi * detector / detectors_a_ring;
    return Vec3d{radius * std::sin(angle), -radius * std::cos(angle), ring_mm * ring - middle_mm}.as<float>();
  };
  std::vector<double> factors;
  for (int ring = 0; ring < rings; ++ring) {
    std::vector<double> here, there;
    for (int view = 0; view < views; ++view)
      for (int t = 0; t < distances; ++t) {
        const int tp = t - 17, up = static_cast<int>(std::floor((tp + 1) / 2.0)),
                  down = static_cast<int>(std::floor(tp / 2.0));
        const int first = (view + up + detectors_a_ring) % detectors_a_ring,
                  second = (view - down + 32 + detectors_a_ring) % detectors_a_ring;
        here.push_back(static_cast<double>(
            scatter_at(estimate, sinogram_place({position(first, ring), position(second, ring), 0}))));
        there.push_back(static_cast<double>(stored[static_cast<std::size_t>((view * rings + ring) * distances + t)]));
      }
    double products = 0, squares = 0;
    for (std::size_t n = 0; n < here.size(); ++n) {
      products += here[n] * there[n];
      squares += there[n] * there[n];
    }
    const double factor = products / squares, most = *std::ranges::max_element(there) * factor;
    double worst = 0, sum = 0;
    for (std::size_t n = 0; n < here.size(); ++n) {
      const double apart = std::abs(here[n] - factor * there[n]) / most;
      worst = std::max(worst, apart);
      sum += apart * apart;
    }
    CAPTURE(ring);
    CHECK(worst < 0.04);
    CHECK(std::sqrt(sum / static_cast<double>(here.size())) < 0.01);
    factors.push_back(factor);
  }
  // The scale is STIR's own. From ring 5 to ring 6, at the cylinder's end, its values fall by a tenth more than these;
  // that is not explained (a lattice of scatter points that ends earlier would do it).
  for (int ring = 0; ring < 5; ++ring)
    CHECK(factors[static_cast<std::size_t>(ring)] == approx(factors[5]).epsilon(0.02));
  CHECK(factors[6] / factors[5] == approx(1.10).epsilon(0.03));
}
// SPDX-License-Identifier: Apache-2.0
