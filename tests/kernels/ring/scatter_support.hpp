// Another program's Monte Carlo of scatter, and what an estimate of scatter says of the same.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "kernels/ring/scatter/single_scatter.hpp"
#include "kernels/types/image.hpp"

namespace tofstream::testing {

Image image_of(const Grid& grid, auto&& value) {
  Image image = Image::zeros(grid);
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i)
        image.voxels[grid.index(i, j, k)] = static_cast<float>(value(grid.centre(i, j, k).template as<double>()));
  return image;
}

/// MCGPU-PET's case (GitHub DIDSR/MCGPU-PET, commit dc122b2): water of radius 100 mm and length 200 mm with a source of
/// radius 20 mm at x = 40 mm, detectors at 400 mm within 120 mm of the middle.
struct MonteCarloCase {
  static constexpr double radius = 400, half = 120, voxels = 4000, voxel_mm3 = 64, decays = 3155254978;
  Image activity = of([](Vec3d at) { return std::hypot(at.x - 40, at.y) <= 20 ? 1 : 0; });
  Image mu = of([](Vec3d at) { return std::hypot(at.x, at.y) <= 100 ? 0.0095953 : 0; });
  ScatterDetectors detectors{
      .radius_mm = radius, .energy = {.low_keV = 435, .high_keV = 650, .resolution = 0.12, .is_share_of_energy = true}};

  static Image of(auto&& value) { return image_of(Grid::centred(54, 54, 50, {4, 4, 4}), value); }
};

/// Calls visit(place, counts) for lines between points of the case's cylinder, evenly spread over s within `reach_mm`,
/// phi and z of both ends, with the coincidences a decay that each stands for where an estimate of all decays is 1: the
/// efficiency of its pair times the points' areas, which are r^2 / sqrt(r^2 - s^2) each.
void for_each_line(double reach_mm, double step_mm, int angles, int z_steps, auto&& visit) {
  constexpr double radius = MonteCarloCase::radius, half = MonteCarloCase::half, pi = std::numbers::pi;
  const double per_decay = 1 / (MonteCarloCase::voxels * MonteCarloCase::voxel_mm3);  // all voxels together emit 1
  const int s_steps = static_cast<int>(std::lround(2 * reach_mm / step_mm));
  for (int n = 0; n < s_steps; ++n) {
    const double s = -reach_mm + (n + 0.5) * step_mm, chord2 = 4 * (radius * radius - s * s);
    const double areas = 2 * radius * radius / std::sqrt(radius * radius - s * s);
    for (int i = 0; i < z_steps; ++i)
      for (int j = 0; j < z_steps; ++j) {
        const double a = half * (2 * (i + 0.5) / z_steps - 1), b = half * (2 * (j + 0.5) / z_steps - 1);
        const double d2 = chord2 + (b - a) * (b - a), cosine = 0.5 * chord2 / (radius * std::sqrt(d2));
        const double counts = cosine * cosine / (2 * pi * d2) * areas * step_mm * (pi / angles) *
                              std::pow(2 * half / z_steps, 2) * per_decay;
        for (int p = 0; p < angles; ++p)
          visit(SinogramPlace{static_cast<float>(s), static_cast<float>((p + 0.5) * pi / angles), static_cast<float>(a),
                              static_cast<float>(b), 0},
                counts);
      }
  }
}

/// Coincidences a decay of the case above, by |s| in steps of 10 mm, all directions and ends together, of an estimate
/// without ToF.
inline std::vector<double> recorded_a_decay(const ScatterEstimate& estimate, std::size_t steps) {
  std::vector<double> by_distance(steps);
  for_each_line(10 * static_cast<double>(steps), 2, 12, 12, [&](const SinogramPlace& place, double counts) {
    by_distance[static_cast<std::size_t>(std::abs(place.s) / 10)] +=
        counts * static_cast<double>(scatter_at(estimate, place));
  });
  return by_distance;
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
