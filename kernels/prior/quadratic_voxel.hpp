// The gradient of the quadratic penalty in one voxel, shared by CPU and CUDA, and the CUDA entry point. Internal to the
// prior.
#pragma once

#include <cstdint>

#include "kernels/math/host_device.hpp"
#include "kernels/memory/memory.hpp"

namespace tofstream::detail {

struct QuadraticArrays {
  const float* image;
  float* gradient;
  int size[3];
  float weights[27];  // beta w of the neighbours, x fastest; 0 where a voxel is none

  TOFSTREAM_HOST_DEVICE bool is_inside(int at, int axis) const { return at >= 0 && at < size[axis]; }

  TOFSTREAM_HOST_DEVICE void differentiate(std::int64_t v) const {
    const std::int64_t row = v / size[0];
    const int i = static_cast<int>(v % size[0]), j = static_cast<int>(row % size[1]),
              k = static_cast<int>(row / size[1]);
    float sum = 0;
    for (int dk = -1; dk <= 1; ++dk)
      for (int dj = -1; dj <= 1; ++dj)
        for (int di = -1; di <= 1; ++di) {
          if (!is_inside(i + di, 0) || !is_inside(j + dj, 1) || !is_inside(k + dk, 2)) continue;
          const std::int64_t neighbour = v + di + size[0] * (dj + static_cast<std::int64_t>(size[1]) * dk);
          sum += weights[di + 1 + 3 * (dj + 1 + 3 * (dk + 1))] * (image[v] - image[neighbour]);
        }
    gradient[v] = sum;
  }
};

void differentiate_cuda(const QuadraticArrays& arrays, std::int64_t voxels, Stream stream);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
