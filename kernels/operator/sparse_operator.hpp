// An operator on images as a sparse matrix, with its transpose beside it: both are sums over rows in a fixed order, so
// the result is the same, bit for bit, on any number of threads.
#pragma once

#include <cstdint>

#include "kernels/math/host_device.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/operator/image_operator.hpp"

namespace tofstream {

/// The rows of a square matrix over the voxels of an image (compressed sparse rows).
struct SparseRows {
  Buffer<std::int64_t> begin;   // of each row's entries, and the end of the last row's
  Buffer<std::int32_t> column;  // of each entry
  Buffer<float> weight;
  std::int64_t rows() const { return begin.empty() ? 0 : begin.size() - 1; }
};

/// The rows of the transpose; within a row the columns ascend. On the host.
SparseRows transposed(const SparseRows& matrix);

/// What the processors see of SparseRows.
struct SparseView {
  const std::int64_t* begin;
  const std::int32_t* column;
  const float* weight;

  /// The part of a row's sum that lane `lane` of `lanes` has.
  TOFSTREAM_HOST_DEVICE float row_part(std::int64_t row, const float* x, int lane, int lanes) const {
    float sum = 0;
    const std::int64_t end = begin[row + 1];
    for (std::int64_t e = begin[row] + lane; e < end; e += lanes) sum += weight[e] * x[column[e]];
    return sum;
  }
};

/// The most voxels of an image that a SparseOperator works on.
inline constexpr std::int64_t most_sparse_voxels = INT32_MAX;

class SparseOperator final : public ImageOperator {
 public:
  /// `rows`: those of A, on the host, one for each voxel of the grid. Throws std::invalid_argument for another number
  /// of rows, OutOfMemory, std::runtime_error for a missing GPU.
  SparseOperator(const Grid& grid, SparseRows rows, Backend backend);

  /// What A and A^T take together.
  std::size_t bytes() const;

 private:
  Image forward_of(const Image& x) const override { return applied(rows_, x); }
  Image adjoint_of(const Image& y) const override { return applied(columns_, y); }
  Image applied(const SparseRows& rows, const Image& x) const;

  SparseRows rows_, columns_;
};

namespace detail {
/// to[i] = the sum of row i. Device pointers, queued on the stream.
void sparse_sums_cuda(const SparseView& matrix, std::int64_t rows, const float* x, float* to, Stream stream);
}  // namespace detail

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
