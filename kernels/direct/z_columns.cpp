// Columns of images: see z_columns.hpp.
#include "kernels/direct/z_columns.hpp"

#include <algorithm>

#include <tbb/parallel_for.h>

namespace tofstream {

namespace {

constexpr std::int64_t widest_vector = 16;  // floats

std::int64_t whole_vectors(std::int64_t floats) {
  return (floats + widest_vector - 1) / widest_vector * widest_vector;
}

}  // namespace

ColumnLayout::ColumnLayout(int rows_of_values, std::int64_t zeros)
    : rows(rows_of_values),
      length(whole_vectors(rows_of_values)),
      margin(whole_vectors(zeros)),
      stride(length + 2 * margin) {}

ColumnStack::ColumnStack(int size_i, int size_j, const ColumnLayout& layout)
    : layout_(layout),
      size_i_(size_i),
      size_j_(size_j),
      values_(static_cast<std::size_t>(std::int64_t{size_i} * size_j * layout.stride), 0.0f) {}

void ColumnStack::load(const float* image) {
  tbb::parallel_for(0, size_j_, [&](int j) {
    for (int k = 0; k < layout_.rows; ++k) {
      const std::int64_t row = size_i_ * (j + std::int64_t{size_j_} * k);
      float* const to = at(0, j) + k;
      for (int i = 0; i < size_i_; ++i) to[i * layout_.stride] = image ? image[row + i] : 1.0f;
    }
  });
}

void ColumnStack::add_to(float* image) const {
  tbb::parallel_for(0, size_j_, [&](int j) {
    for (int k = 0; k < layout_.rows; ++k) {
      float* const row = image + size_i_ * (j + std::int64_t{size_j_} * k);
      const float* const from = at(0, j) + k;
      for (int i = 0; i < size_i_; ++i) row[i] += from[i * layout_.stride];
    }
  });
}

void store_row(const float* columns, std::int64_t stride, int size_i, int size_j, int size_k, int j, float* image) {
  for (int k = 0; k < size_k; ++k) {
    float* const row = image + size_i * (j + std::int64_t{size_j} * k);
    for (int i = 0; i < size_i; ++i) row[i] = columns[i * stride + k];
  }
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
