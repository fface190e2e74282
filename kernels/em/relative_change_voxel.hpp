// The two sums of relative_change.hpp, voxel by voxel, for CPU and CUDA, and the CUDA entry point. Internal to it.
#pragma once

#include <cstdint>

#include "kernels/math/host_device.hpp"
#include "kernels/memory/memory.hpp"

namespace tofstream::detail {

struct ChangeArrays {
  const float* before;
  const float* after;
  std::int64_t voxels;
};

struct ChangeSums {
  double difference = 0, before = 0;  // of squares

  TOFSTREAM_HOST_DEVICE void add_voxel(const ChangeArrays& arrays, std::int64_t v) {
    const double was = static_cast<double>(arrays.before[v]);
    const double moved = static_cast<double>(arrays.after[v]) - was;
    difference += moved * moved;
    before += was * was;
  }
  TOFSTREAM_HOST_DEVICE void add(const ChangeSums& other) {
    difference += other.difference;
    before += other.before;
  }
};

/// Complete on return.
ChangeSums change_sums_cuda(const ChangeArrays& arrays, Stream stream);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
