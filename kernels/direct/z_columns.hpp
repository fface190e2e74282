// Images and histo-images on the CPU: columns along the last axis, which whole vectors are made of and which all voxels
// of a column share their weights in.
#pragma once

#include <cstdint>
#include <vector>

namespace tofstream {

/// How columns lie in memory: `margin` zeros, `rows` values, zeros up to whole vectors, `margin` zeros.
struct ColumnLayout {
  int rows = 0;
  std::int64_t length = 0;  // rows, filled up to whole vectors
  std::int64_t margin = 0, stride = 0;

  ColumnLayout(int rows_of_values, std::int64_t zeros);
};

/// A column for each point (i, j) of the first two axes, i fastest.
class ColumnStack {
 public:
  ColumnStack(int size_i, int size_j, const ColumnLayout& layout);
  const ColumnLayout& layout() const { return layout_; }
  int size_i() const { return size_i_; }
  int size_j() const { return size_j_; }
  float* at(int i, int j) { return values_.data() + offset(i, j); }
  const float* at(int i, int j) const { return values_.data() + offset(i, j); }
  void clear() { values_.assign(values_.size(), 0.0f); }

  /// Takes an image [k][j][i]; null stands for ones.
  void load(const float* image);
  /// image += the columns.
  void add_to(float* image) const;

 private:
  std::int64_t offset(int i, int j) const { return (i + std::int64_t{size_i_} * j) * layout_.stride + layout_.margin; }
  ColumnLayout layout_;
  int size_i_, size_j_;
  std::vector<float> values_;
};

/// Puts columns `stride` apart into row j of an image [k][j][i].
void store_row(const float* columns, std::int64_t stride, int size_i, int size_j, int size_k, int j, float* image);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
