// What add_difference does to one voxel, shared by CPU and CUDA, and the CUDA entry point. Internal to image_sum.hpp.
#pragma once

#include <cstdint>

#include "kernels/math/host_device.hpp"
#include "kernels/memory/memory.hpp"

namespace tofstream::detail {

struct DifferenceArrays {
  float* sum;
  const float* plus;
  const float* minus;  // null: 0
  float factor;
};

TOFSTREAM_HOST_DEVICE inline void add_difference_voxel(const DifferenceArrays& a, std::int64_t v) {
  a.sum[v] += a.factor * (a.minus ? a.plus[v] - a.minus[v] : a.plus[v]);
}

/// Queued on the stream.
void add_difference_cuda(const DifferenceArrays& arrays, std::int64_t voxels, Stream stream);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
