// One of Joseph's lines walked by one thread: see joseph_line-inl.hpp.
#pragma once

#include <cstdint>

#include "kernels/ring/joseph/joseph_line-inl.hpp"

namespace tofstream::joseph {

/// Calls visit(offset, weight) for each voxel of a line that has weight.
template <class Visit>
__device__ inline void walk(const Grid& grid, const single_lane::JosephLine& line, Visit visit) {
  const std::int64_t plane_stride = grid.stride(line.axis);
  const std::int64_t u_stride = grid.stride(line.u_axis);
  const std::int64_t v_stride = grid.stride(line.v_axis);
  for (int begin = line.first; begin <= line.last; begin += single_lane::JosephBlock::planes) {
    const single_lane::JosephBlock block = single_lane::JosephBlock::make(grid, line, begin);
    const int count = min(single_lane::JosephBlock::planes, line.last - begin + 1);
    for (int plane = 0; plane < count; ++plane) {
      const single_lane::Crossing<float> c = single_lane::cross(line, block, static_cast<float>(plane));
      const std::int64_t offset = (begin + plane) * plane_stride + static_cast<std::int64_t>(c.u) * u_stride +
                                  static_cast<std::int64_t>(c.v) * v_stride;
      // A weight of 0 may stand for a voxel that an image one voxel wide does not have.
      if (c.weight[0] != 0) visit(offset, c.weight[0]);
      if (c.weight[1] != 0) visit(offset + u_stride, c.weight[1]);
      if (c.weight[2] != 0) visit(offset + v_stride, c.weight[2]);
      if (c.weight[3] != 0) visit(offset + u_stride + v_stride, c.weight[3]);
    }
  }
}

/// The line's integral through the image.
__device__ inline float line_sum(const Grid& grid, const single_lane::JosephLine& line, const float* image) {
  float sum = 0;
  walk(grid, line, [&](std::int64_t voxel, float weight) { sum += weight * image[voxel]; });
  return sum;
}

}  // namespace tofstream::joseph
// SPDX-License-Identifier: Apache-2.0
