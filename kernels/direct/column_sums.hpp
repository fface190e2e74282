// Weighted sums of columns, in the CPU's widest vectors. Lengths are whole vectors: multiples of 16 floats.
#pragma once

#include <cstdint>

namespace tofstream {

/// sum over m in [0, count) of weights[m * step] data[k + m].
struct ColumnRun {
  const float* data = nullptr;
  const float* weights = nullptr;
  int count = 0, step = 1;
};

/// Weights of some points in a row: point i has scale * weights[i].
struct RowWeights {
  const float* weights = nullptr;
  int points = 0;
  float scale = 1;
};

/// Functions for this machine's instruction set.
struct ColumnSums {
  /// out[k] = the sum of all runs.
  void (*sum_runs)(const ColumnRun* runs, int count, std::int64_t length, float* out);
  /// Column i of a row += its weight times `column`; columns lie `stride` apart.
  void (*spread)(const float* column, const RowWeights& weights, std::int64_t length, float* row, std::int64_t stride);
  /// The transpose: `column` += the weighted sum of the row's columns.
  void (*collect)(const float* row, std::int64_t stride, const RowWeights& weights, std::int64_t length, float* column);
  /// out[i][k] = the sum over m in [0, 2 reach] of weights[m] in[i + m][k] for i in [0, count); columns `stride` apart
  /// on both sides. `weights` has blur_guard zeros before and behind it.
  void (*blur)(const float* in, const float* weights, int reach, int count, std::int64_t length, std::int64_t stride,
               float* out);
};

inline constexpr int blur_guard = 3;

const ColumnSums& column_sums();

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
