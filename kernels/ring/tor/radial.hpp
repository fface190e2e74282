// Which of several ways to a tube's weights suits a batch, and the windows of voxels that it takes (tor_footprint.cuh).
#pragma once

#include "kernels/math/host_device.hpp"
#include "kernels/ring/tor/tor_model.hpp"

namespace tofstream::tor {

/// How a footprint comes by its radial weight.
enum class Radial {
  thin,    // a Gaussian that goes on from voxel to voxel by multiplications, in windows of 2 by 2 voxels
  narrow,  // the same in windows of 4 by 4
  middle,  // the same in windows of 5 by 5, or of 4 columns where these hold the section
  blob,    // a blob of a few voxels, in windows of 4 columns by 3 rows: the ToF response goes on by multiplications
  smooth,  // the same, row by row
  steep,   // a Gaussian that single precision cannot follow across the tube: an exponential a voxel
  table,   // any other
};

constexpr bool has_windows(Radial radial) {
  return radial == Radial::thin || radial == Radial::narrow || radial == Radial::middle || radial == Radial::blob;
}
/// Columns and rows of a window.
constexpr int window_columns_of(Radial radial) {
  if (radial == Radial::thin) return 2;
  return radial == Radial::middle ? 5 : 4;
}
constexpr int window_rows_of(Radial radial) {
  if (radial == Radial::blob) return 3;  // rows mostly run along the scanner, across which most lines go
  return window_columns_of(radial);
}
/// The most columns of a tube that takes the fast path: a warp gets either such visits only, or others only.
constexpr int sorted_columns_of(Radial radial) {
  return radial == Radial::middle ? 4 : window_columns_of(radial);
}
/// Whether a tube's section, given by its half extents in voxels, may need more than one window.
TOFSTREAM_HOST_DEVICE constexpr bool exceeds_window(float p_half, float q_half, int columns, int rows) {
  return 2 * p_half >= static_cast<float>(columns) || 2 * q_half >= static_cast<float>(rows);
}

/// Whether slices can be normalised as they are walked: of narrow Gaussian tubes, which need it most.
constexpr bool normalises_slices(Radial radial) {
  return radial == Radial::thin || radial == Radial::narrow || radial == Radial::middle;
}

/// Columns of a row that a footprint without windows takes at a time.
constexpr int row_columns = 4;

/// How a footprint comes by the ToF response of a bin (tof_profile.hpp).
enum class Tof {
  none,
  step,    // a bell that ends at the cut, for bins that count whole
  bell,    // a bell with a ramp
  pieces,  // for all events of a batch one width
};

/// The ways for a pass.
struct Ways {
  Radial radial;
  Tof tof;
  double stretch_mm;      // to either side of a place that a piece must serve
  int steps_a_piece = 1;  // of row_columns, of a row
};
Ways ways_of(const Pass& pass);

}  // namespace tofstream::tor
// SPDX-License-Identifier: Apache-2.0
