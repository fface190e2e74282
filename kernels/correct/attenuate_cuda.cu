// Attenuation of LORs on a CUDA device: see attenuate.hpp.
#include "kernels/correct/attenuate.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"

namespace tofstream::detail {

namespace {

__global__ void attenuate_each(float* values, const float* integrals, std::int64_t count) {
  const std::int64_t i = elementwise::element();
  if (i < count) values[i] *= expf(-integrals[i]);
}

}  // namespace

void attenuate_cuda(float* values, const float* integrals, std::int64_t count, Stream stream) {
  if (count == 0) return;
  attenuate_each<<<elementwise::blocks(count), elementwise::threads, 0, stream>>>(values, integrals, count);
  check_launch("attenuate lines of response");
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
