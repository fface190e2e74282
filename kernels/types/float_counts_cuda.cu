// Whole counts as floats on a GPU: see float_counts.hpp.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/types/float_counts.hpp"

namespace tofstream {

namespace {

__global__ void float_of_each_count(const std::uint16_t* counts, std::int64_t count, float* to) {
  const std::int64_t i = elementwise::element();
  if (i < count) to[i] = static_cast<float>(counts[i]);
}

}  // namespace

void to_float_counts_cuda(const std::uint16_t* counts, std::int64_t count, float* to, Stream stream) {
  if (count == 0) return;
  float_of_each_count<<<elementwise::blocks(count), elementwise::threads, 0, stream>>>(counts, count, to);
  check_launch("make floats of counts");
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
