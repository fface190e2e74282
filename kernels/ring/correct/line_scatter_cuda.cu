// Scatter of lines on a GPU, a thread a line: see line_scatter.hpp.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/ring/correct/line_scatter.hpp"
#include "kernels/ring/correct/scatter-inl.hpp"

namespace tofstream::detail {

namespace {

__global__ void scatter_of_each_line(ScatterView scatter, EventView lines, float* values) {
  const std::int64_t i = elementwise::element();
  if (i < lines.count) values[i] = scatter_at(scatter, sinogram_place(lines.lor(i)));
}

}  // namespace

void look_up_scatter_cuda(const ScatterView& scatter, const EventView& lines, float* values, Stream stream) {
  if (lines.count == 0) return;
  scatter_of_each_line<<<elementwise::blocks(lines.count), elementwise::threads, 0, stream>>>(scatter, lines, values);
  check_launch("look up the scatter of lines");
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
