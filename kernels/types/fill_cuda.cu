// See fill.hpp.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/types/fill.hpp"

namespace tofstream::detail {

namespace {

__global__ void fill(float* numbers, float value, std::int64_t count) {
  const std::int64_t v = elementwise::element();
  if (v < count) numbers[v] = value;
}

}  // namespace

void fill_cuda(float* numbers, float value, std::int64_t count, Stream stream) {
  if (count > 0) fill<<<elementwise::blocks(count), elementwise::threads, 0, stream>>>(numbers, value, count);
  check_launch("fill an image");
  synchronize(stream);
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
