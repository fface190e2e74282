// The weights that a column of voxels has in a resampling (two_stage.hpp), for host and device.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/direct/direct_kernel.hpp"
#include "kernels/math/host_device.hpp"
#include "kernels/math/vec3.hpp"

namespace tofstream {

/// What a view's columns share, and how many weights a column has at most.
struct ResamplingLaw {
  double cut = 0;  // in sigma
  Vec3d spacing_mm;
  double u_sigma_mm = 0, k_sigma_mm = 0, shift_per_dk = 0;
  double first_channel_mm = 0, channel_gap_mm = 0;  // shifts of du
  int channels = 1;
  int count_u = 0, count_s = 0, count_k = 0;

  TOFSTREAM_HOST_DEVICE double channel_mm(int channel) const { return first_channel_mm + channel * channel_gap_mm; }
  /// The share of a channel in a row dk away.
  TOFSTREAM_HOST_DEVICE double share(int channel, double dk_mm) const {
    if (channels == 1) return 1;
    const double low = channel_mm(0), high = channel_mm(channels - 1), wanted = shift_per_dk * dk_mm;
    const double at = wanted < low ? low : (wanted > high ? high : wanted);
    const double left = 1 - std::abs(at - channel_mm(channel)) / channel_gap_mm;
    return left > 0 ? left : 0;
  }
};

/// The radial factor of a column: a sum of Gaussians, and the sum of its weights.
struct RadialLaw {
  const RadialGaussian* parts = nullptr;
  int count = 0;
  double reach_mm = 0, sum = 1;
};

/// The points of the lattice at which a column's weights begin; along z those of its first voxel.
struct ColumnStart {
  std::int32_t u = 0, s = 0, k = 0;
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

/// Writes the weights of a column whose first voxel lies at these coordinates of the lattice: u[channel][count_u],
/// s[count_s], k[channel][count_k]; what they do not reach is 0.
TOFSTREAM_HOST_DEVICE inline ColumnStart make_column(const ResamplingLaw& law, const RadialLaw& radial, Vec3d at,
                                                     float* u, float* s, float* k) {
  const Vec3d spacing = law.spacing_mm;
  for (int i = 0; i < law.channels * law.count_u; ++i) u[i] = 0;
  for (int i = 0; i < law.count_s; ++i) s[i] = 0;
  for (int i = 0; i < law.channels * law.count_k; ++i) k[i] = 0;

  const PointRange in_u =
      PointRange::around(at.x, (law.cut * law.u_sigma_mm + law.channel_mm(law.channels - 1)) / spacing.x);
  for (int r = 0; r < law.channels; ++r) {
    const double from = (in_u.first - at.x) * spacing.x - law.channel_mm(r);
    add_gaussian(1, from / law.u_sigma_mm, spacing.x / law.u_sigma_mm, u + r * law.count_u, in_u.count);
    scale_to_sum(u + r * law.count_u, in_u.count, 1);
  }

  const PointRange in_s = PointRange::around(at.y, radial.reach_mm / spacing.y);
  for (int i = 0; i < radial.count; ++i) {
    const RadialGaussian& part = radial.parts[i];
    add_gaussian(part.weight / part.sigma_mm, ((in_s.first - at.y) * spacing.y - part.centre_mm) / part.sigma_mm,
                 spacing.y / part.sigma_mm, s, in_s.count);
  }
  scale_to_sum(s, in_s.count, radial.sum);

  const PointRange in_k = PointRange::around(at.z, law.cut * law.k_sigma_mm / spacing.z);
  add_gaussian(1, (in_k.first - at.z) * spacing.z / law.k_sigma_mm, spacing.z / law.k_sigma_mm, k, in_k.count);
  scale_to_sum(k, in_k.count, 1);
  for (int m = 0; law.channels > 1 && m < in_k.count; ++m) {
    const double dk = (in_k.first + m - at.z) * spacing.z;
    const float weight = k[m];
    for (int r = 0; r < law.channels; ++r) k[r * law.count_k + m] = weight * static_cast<float>(law.share(r, dk));
  }
  return {in_u.first, in_s.first, in_k.first};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
