// The separable Gaussian on a CUDA device, one pass an axis between the image and a scratch image:
// see gaussian_psf.hpp. A thread makes one voxel; neighbours in x read neighbouring addresses.
#include <utility>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/filter/gaussian_lines.hpp"

namespace tofstream::detail {

namespace {

__global__ void blur_axis(const float* from, float* to, std::int64_t voxels, int n, std::int64_t stride,
                          const float* weights, int reach) {
  const std::int64_t v = elementwise::element();
  if (v >= voxels) return;
  const int i = static_cast<int>(v / stride % n);
  float sum = weights[0] * from[v];
  for (int k = 1; k <= reach; ++k) {
    const float before = i >= k ? from[v - k * stride] : 0.0f;
    const float after = i + k < n ? from[v + k * stride] : 0.0f;
    sum += weights[k] * (before + after);
  }
  to[v] = sum;
}

}  // namespace

void blur_cuda(float* image, float* scratch, const Grid& grid, const Buffer<float> (&weights)[3], Stream stream) {
  const std::int64_t voxels = grid.voxels();
  float *from = image, *to = scratch;
  for (int axis = 0; axis < 3; ++axis) {
    const int reach = static_cast<int>(weights[axis].size()) - 1;
    if (reach == 0) continue;
    blur_axis<<<elementwise::blocks(voxels), elementwise::threads, 0, stream>>>(
        from, to, voxels, grid.size[axis], grid.stride(axis), weights[axis].data(), reach);
    check_launch("blur an image");
    std::swap(from, to);
  }
  if (from != image)
    copy(image, Memory::device, from, Memory::device, static_cast<std::size_t>(voxels) * sizeof(float), stream);
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
