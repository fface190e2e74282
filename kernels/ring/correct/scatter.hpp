// A given estimate of scatter, coarse in five coordinates of a line of response, interpolated linearly to events. A
// line across the axis at angle phi is x cos phi + y sin phi = s; end a lies towards -(-sin phi, cos phi), end b the
// other way.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/types/events.hpp"

namespace tofstream {

/// Where a line of response lies: radial distance s (signed), angle phi in [0, pi), axial positions of the ends, and
/// ToF from the middle towards end b. Lengths mm, angle radian.
struct SinogramPlace {
  float s = 0, phi = 0, z_a = 0, z_b = 0, tof = 0;
};

/// The place of a line; exchanging its detectors (and negating its ToF) changes nothing. A line along the axis has phi
/// 0.
TOFSTREAM_HOST_DEVICE inline SinogramPlace sinogram_place(const Lor& lor) {
  const Vec3 along = lor.end2 - lor.end1;
  // Towards end b the line runs along (-sin phi, cos phi), phi in [0, pi): x falls, or y grows where x is constant.
  const bool forwards = along.x < 0 || (along.x == 0 && along.y >= 0);
  const float sign = forwards ? 1.0f : -1.0f, length = std::sqrt(along.x * along.x + along.y * along.y);
  const float sine = length > 0 ? -sign * along.x / length : 0.0f, cosine = length > 0 ? sign * along.y / length : 1.0f;
  SinogramPlace place;
  place.phi = std::atan2(sine, cosine);
  place.s = lor.end1.x * cosine + lor.end1.y * sine;
  place.z_a = forwards ? lor.end1.z : lor.end2.z;
  place.z_b = forwards ? lor.end2.z : lor.end1.z;
  place.tof = sign * lor.tof_mm;
  return place;
}

/// Samples of the scatter of a pair of detectors of efficiency 1: counts per s, and per mm of ToF where there is more
/// than one sample of it. `size`: radial, angle, z of end a, z of end b, ToF; the radial index is fastest in `values`.
/// Sample k of n of a length lies at (k - (n - 1) / 2) spacing, that of the angle at k pi / n.
struct ScatterEstimate {
  std::array<int, 5> size = {1, 1, 1, 1, 1};
  float radial_mm = 1, axial_mm = 1, tof_mm = 1;  // spacing
  std::vector<float> values;

  bool has_tof() const { return size[4] > 1; }
  /// The line of a sample between points `radius_mm` from the axis, so that an estimate can be computed line by line.
  Lor line(const std::array<int, 5>& sample, float radius_mm) const;
  /// The samples summed over ToF: per line of response.
  ScatterEstimate without_tof() const;
};

/// Throws std::invalid_argument, naming what is wrong: sizes that are not positive, differ for the two ends or do not
/// fit the values, spacings that are not positive, values that are negative or not finite.
void validate(const ScatterEstimate& estimate);
/// Likewise, of the sizes and spacings alone; returns how many values belong to them.
std::size_t validate_lattice(const ScatterEstimate& estimate);

/// What interpolation in an estimate reads, passed by value: its samples lie in one kind of memory.
struct ScatterView {
  int size[5] = {1, 1, 1, 1, 1};
  float radial_mm = 1, axial_mm = 1, tof_mm = 1;
  const float* values = nullptr;
};

/// A view of the estimate whose samples lie at `values`.
inline ScatterView scatter_view(const ScatterEstimate& e, const float* values) {
  return {{e.size[0], e.size[1], e.size[2], e.size[3], e.size[4]}, e.radial_mm, e.axial_mm, e.tof_mm, values};
}

/// The estimate at a place, linear in each of its five coordinates; beyond the outermost samples it keeps their value.
/// The step from the last angle to the first goes on with the line turned over. scatter-inl.hpp has it for views, on
/// the host and on CUDA devices.
float scatter_at(const ScatterEstimate& estimate, const SinogramPlace& place);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
