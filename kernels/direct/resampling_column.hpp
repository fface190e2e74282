// The weights of a resampling (two_stage.hpp), for host and device.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/direct/direct_kernel.hpp"
#include "kernels/math/host_device.hpp"
#include "kernels/math/units.hpp"
#include "kernels/math/vec3.hpp"

namespace tofstream {

/// What the columns and points of a view share, and how many weights they have at most.
struct ResamplingLaw {
  double cut = 0;  // in sigma
  Vec3d spacing_mm;
  double u_sigma_mm = 0, z_sigma_mm = 0;
  int count_u = 0, count_s = 0, count_z = 0;
};

/// The radial factor of a column: a sum of Gaussians, and the sum of its weights.
struct RadialLaw {
  const RadialGaussian* parts = nullptr;
  int count = 0;
  double reach_mm = 0, sum = 1;
};

/// The points of the lattice at which a column's weights across z begin.
struct ColumnStart {
  std::int32_t u = 0, s = 0;
};

/// Points within `reach` points of a position, of which there is at least one.
struct PointRange {
  int first = 0, count = 0;
  TOFSTREAM_HOST_DEVICE static double at_least_half(double reach) { return reach > 0.5 ? reach : 0.5; }
  TOFSTREAM_HOST_DEVICE static int most(double reach) {
    return static_cast<int>(std::floor(2 * at_least_half(reach))) + 1;
  }
  TOFSTREAM_HOST_DEVICE static PointRange around(double position, double reach) {
    const double by = at_least_half(reach);
    const int first = static_cast<int>(std::ceil(position - by)), last = static_cast<int>(std::floor(position + by));
    return {first, last - first + 1};
  }
};

/// Adds height exp(-x^2 / 2) at x = first, first + step, ...: each value is the one before times a factor that itself
/// changes by exp(-step^2).
TOFSTREAM_HOST_DEVICE inline void add_gaussian(double height, double first, double step, float* out, int count) {
  double value = height * std::exp(-0.5 * first * first), factor = std::exp(-step * (first + 0.5 * step));
  const double change = std::exp(-step * step);
  for (int i = 0; i < count; ++i) {
    out[i] += static_cast<float>(value);
    value *= factor;
    factor *= change;
  }
}

TOFSTREAM_HOST_DEVICE inline void scale_to_sum(float* weights, int count, double wanted) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += static_cast<double>(weights[i]);
  for (int i = 0; i < count; ++i) weights[i] = static_cast<float>(static_cast<double>(weights[i]) * wanted / sum);
}

/// A Gaussian of 1.5 points FWHM, sampled at points, has its centre within 2e-3 points of where it should be.
inline constexpr double least_sampled_sigma = 1.5 / fwhm_per_sigma;

/// Writes weights of unit sum at x = first, first + 1, ... with the mean 0 and the variance sigma^2, which no two
/// neighbours of 0 exceed where sigma >= 0.5: those of a Gaussian that is moved and widened until it has them.
TOFSTREAM_HOST_DEVICE inline void write_moments(double sigma, double first, float* out, int count) {
  constexpr int most_steps = 20;
  constexpr double exact_enough = 1e-6;
  double centre = 0, variance = sigma * sigma;
  for (int step = 0; step < most_steps; ++step) {
    double sum = 0, mean = 0, squares = 0;
    for (int i = 0; i < count; ++i) {
      const double x = first + i, value = std::exp(-0.5 * (x - centre) * (x - centre) / variance);
      out[i] = static_cast<float>(value);
      sum += value;
      mean += value * x;
      squares += value * x * x;
    }
    mean /= sum;
    const double spread = squares / sum - mean * mean;
    if (std::abs(mean) < exact_enough && std::abs(spread - sigma * sigma) < exact_enough) break;
    centre -= mean * variance / spread;  // by which the mean follows the centre
    variance *= sigma * sigma / spread;
  }
  scale_to_sum(out, count, 1);
}

/// Writes the weights across z of a column at these coordinates of the lattice, u[count_u] and s[count_s]; what they do
/// not reach is 0.
TOFSTREAM_HOST_DEVICE inline ColumnStart make_across(const ResamplingLaw& law, const RadialLaw& radial, Vec3d at,
                                                     float* u, float* s) {
  const Vec3d spacing = law.spacing_mm;
  for (int i = 0; i < law.count_u; ++i) u[i] = 0;
  for (int i = 0; i < law.count_s; ++i) s[i] = 0;

  const PointRange in_u = PointRange::around(at.x, law.cut * law.u_sigma_mm / spacing.x);
  const double sigma = law.u_sigma_mm / spacing.x;
  if (sigma < least_sampled_sigma) {
    write_moments(sigma, in_u.first - at.x, u, in_u.count);
  } else {
    add_gaussian(1, (in_u.first - at.x) / sigma, 1 / sigma, u, in_u.count);
    scale_to_sum(u, in_u.count, 1);
  }

  const PointRange in_s = PointRange::around(at.y, radial.reach_mm / spacing.y);
  for (int i = 0; i < radial.count; ++i) {
    const RadialGaussian& part = radial.parts[i];
    add_gaussian(part.weight / part.sigma_mm, ((in_s.first - at.y) * spacing.y - part.centre_mm) / part.sigma_mm,
                 spacing.y / part.sigma_mm, s, in_s.count);
  }
  scale_to_sum(s, in_s.count, radial.sum);
  return {in_u.first, in_s.first};
}

/// Writes the weights along z, k[count_z], that a voxel at row `at` of the lattice has there, and returns the row at
/// which they begin.
TOFSTREAM_HOST_DEVICE inline std::int32_t make_along(const ResamplingLaw& law, double at, float* k) {
  for (int i = 0; i < law.count_z; ++i) k[i] = 0;
  const PointRange rows = PointRange::around(at, law.cut * law.z_sigma_mm / law.spacing_mm.z);
  const double step = law.spacing_mm.z / law.z_sigma_mm;
  add_gaussian(1, (rows.first - at) * step, step, k, rows.count);
  scale_to_sum(k, rows.count, 1);
  return rows.first;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
