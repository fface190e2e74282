// Sparse operators on a CUDA device: see sparse_operator.hpp. A few lanes of a warp share a row, so that they read its
// entries together; their parts are added in a fixed order.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/operator/sparse_operator.hpp"

namespace tofstream::detail {
namespace {

constexpr int lanes = 8;

__global__ void sum_rows(SparseView matrix, std::int64_t rows, const float* x, float* to) {
  const std::int64_t thread = elementwise::element(), row = thread / lanes;
  const int lane = static_cast<int>(thread % lanes);
  // The lanes of a row beyond the last one take part in the sum too.
  float sum = row < rows ? matrix.row_part(row, x, lane, lanes) : 0.0f;
  for (int step = lanes / 2; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step, lanes);
  if (row < rows && lane == 0) to[row] = sum;
}

}  // namespace

void sparse_sums_cuda(const SparseView& matrix, std::int64_t rows, const float* x, float* to, Stream stream) {
  sum_rows<<<elementwise::blocks(rows * lanes), elementwise::threads, 0, stream>>>(matrix, rows, x, to);
  check_launch("apply a sparse operator");
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
