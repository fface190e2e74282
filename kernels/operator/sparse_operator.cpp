// Sparse operators on the CPU: see sparse_operator.hpp.
#include "kernels/operator/sparse_operator.hpp"

#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/memory/refuse.hpp"

namespace tofstream {
namespace {

constexpr std::int64_t rows_a_task = 4096;

SparseView sparse_view(const SparseRows& rows) {
  return {rows.begin.data(), rows.column.data(), rows.weight.data()};
}

void move_to_device(SparseRows& rows) {
  rows = {rows.begin.to(Memory::device), rows.column.to(Memory::device), rows.weight.to(Memory::device)};
}

}  // namespace

SparseRows transposed(const SparseRows& matrix) {
  const std::int64_t rows = matrix.rows(), entries = matrix.column.size();
  SparseRows result{Buffer<std::int64_t>::zeros(Memory::host, rows + 1), Buffer<std::int32_t>(Memory::host, entries),
                    Buffer<float>(Memory::host, entries)};
  for (std::int64_t e = 0; e < entries; ++e) ++result.begin[matrix.column[e] + 1];
  for (std::int64_t row = 0; row < rows; ++row) result.begin[row + 1] += result.begin[row];
  std::vector<std::int64_t> next(result.begin.span().begin(), result.begin.span().end());
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t e = matrix.begin[row]; e < matrix.begin[row + 1]; ++e) {
      const std::int64_t place = next[static_cast<std::size_t>(matrix.column[e])]++;
      result.column[place] = static_cast<std::int32_t>(row);
      result.weight[place] = matrix.weight[e];
    }
  return result;
}

SparseOperator::SparseOperator(const Grid& grid, SparseRows rows, Backend backend)
    : ImageOperator(grid, backend), rows_(std::move(rows)) {
  validate(grid);
  if (grid.voxels() > most_sparse_voxels)
    throw std::invalid_argument(fmt::format("{} voxels are more than a sparse operator can number", grid.voxels()));
  if (rows_.rows() != grid.voxels())
    throw std::invalid_argument(fmt::format("{} rows for an image of {} voxels", rows_.rows(), grid.voxels()));
  if (backend == Backend::cuda) require_cuda();
  columns_ = transposed(rows_);
  if (backend == Backend::cpu) return;
  move_to_device(rows_);
  move_to_device(columns_);
  synchronize(nullptr);
}

std::size_t SparseOperator::bytes() const {
  const auto bytes_of = [](const SparseRows& rows) {
    return rows.begin.bytes() + rows.column.bytes() + rows.weight.bytes();
  };
  return bytes_of(rows_) + bytes_of(columns_);
}

Image SparseOperator::applied(const SparseRows& rows, const Image& x) const {
  Image result{grid(), Buffer<float>(memory_of(backend()), grid().voxels())};
  const SparseView matrix = sparse_view(rows);
  if (backend() == Backend::cuda) {
    detail::sparse_sums_cuda(matrix, grid().voxels(), x.voxels.data(), result.voxels.data(), nullptr);
    return result;
  }
  const float* from = x.voxels.data();
  float* to = result.voxels.data();
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, grid().voxels(), rows_a_task), [&](const auto& range) {
    for (std::int64_t row = range.begin(); row < range.end(); ++row) to[row] = matrix.row_part(row, from, 0, 1);
  });
  return result;
}

#ifndef TOFSTREAM_HAVE_CUDA
void detail::sparse_sums_cuda(const SparseView&, std::int64_t, const float*, float*, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
