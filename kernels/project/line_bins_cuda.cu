// Sinogram bins as events in CUDA: see line_bins.hpp.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/project/line_bins.hpp"

namespace tofstream {

namespace {

__global__ void write_events(detail::LineStretch stretch) {
  const std::int64_t event = elementwise::element();
  if (event < stretch.count) stretch.write(event);
}

}  // namespace

void detail::write_cuda(const LineStretch& stretch, Stream stream) {
  if (stretch.count == 0) return;
  write_events<<<elementwise::blocks(stretch.count), elementwise::threads, 0, stream>>>(stretch);
  check_launch("write the bins of lines");
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
