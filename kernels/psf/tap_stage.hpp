// A blur whose weights are the source voxel's: what a voxel gives to the neighbour at offset d, its tap, has a weight
// of its own for each place in the transverse plane, and changes with z between a few profiles. One text for the CPU
// and CUDA.
#pragma once

#include <cstdint>

#include "kernels/math/host_device.hpp"

namespace tofstream {

/// The offset of a neighbour, in voxels.
struct Tap {
  int x, y, z;
};

struct TapStage {
  int size[3];  // of the image
  Tap reach;    // of the farthest tap: stages lie along z or across it
  int profiles, taps;
  const Tap* offsets;
  const float* weights;  // of profile, tap, y, x; x fastest
  const int* lower;      // of each slice of sources: the profile before it
  const float* part;     // of each slice: how much the profile after that counts, in [0, 1)

  TOFSTREAM_HOST_DEVICE std::int64_t plane() const { return static_cast<std::int64_t>(size[0]) * size[1]; }
  /// Weights of a tap in a profile, of the sources of row y.
  TOFSTREAM_HOST_DEVICE const float* row(int profile, int tap, int y) const {
    return weights + (static_cast<std::int64_t>(profile) * taps + tap) * plane() +
           static_cast<std::int64_t>(y) * size[0];
  }
  /// What the source (x, y, z) gives to the neighbour at a tap.
  TOFSTREAM_HOST_DEVICE float weight(int tap, int x, int y, int z) const {
    const float below = row(lower[z], tap, y)[x];
    return part[z] > 0 ? below + part[z] * (row(lower[z] + 1, tap, y)[x] - below) : below;
  }
  TOFSTREAM_HOST_DEVICE bool holds(int x, int y, int z) const {
    return x >= 0 && x < size[0] && y >= 0 && y < size[1] && z >= 0 && z < size[2];
  }
  TOFSTREAM_HOST_DEVICE std::int64_t index(int x, int y, int z) const {
    return x + static_cast<std::int64_t>(size[0]) * (y + static_cast<std::int64_t>(size[1]) * z);
  }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
