// How much single scatter of the NEMA phantom depends on the distance of its scatter points.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include <doctest/doctest.h>

#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "kernels/ring/scatter/single_scatter.hpp"

using namespace tofstream;

TEST_CASE("single scatter of the NEMA phantom from points 20 mm apart is that from points 10 mm apart") {
  const auto file = formats::read_phantom(find_shared("phantoms", "nema_iq"));
  const Grid grid = Grid::centred(40, 32, 30, {8, 8, 8});
  Image mu = file.phantom.mu_image(grid);
  for (float& value : mu.voxels.span()) value *= 0.1f;
  const Image activity = file.phantom.activity_image(grid);
  const ScatterDetectors detectors{.radius_mm = 400, .energy = {.low_keV = 435, .high_keV = 585, .resolution = 0.1}};
  const ScatterSampling sampling{.lattice = {{9, 4, 3, 3, 1}, 60, 120, 1, {}}};
  const SingleScatter near(mu, detectors, 10), apart(mu, detectors, 20);
  CHECK(near.points() > 6 * apart.points());
  const ScatterEstimate fine = near.estimate(activity, sampling), coarse = apart.estimate(activity, sampling);
  double most = 0, worst = 0;
  for (std::size_t v = 0; v < fine.values.size(); ++v) {
    most = std::max(most, static_cast<double>(fine.values[v]));
    worst = std::max(worst, std::abs(static_cast<double>(coarse.values[v] - fine.values[v])));
  }
  CHECK(worst < 0.02 * most);
}
// SPDX-License-Identifier: Apache-2.0
