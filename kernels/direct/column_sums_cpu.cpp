// Sums of columns in the CPU's vectors: see column_sums.hpp. Compiled for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/direct/column_sums_cpu.cpp"
// clang-format off: this line compiles the file for each instruction set, so it comes first
#include "kernels/math/simd_targets.hpp"
// clang-format on

#include <hwy/highway.h>

#include "kernels/direct/column_sums.hpp"
#include "kernels/math/lanes-inl.hpp"

TOFSTREAM_LANES_BEGIN

namespace direct_columns {

constexpr FloatTag lanes;

/// Rows [k, k + vectors) of a sum of runs, kept in registers.
template <int vectors>
HWY_INLINE void sum_runs_at(const ColumnRun* runs, int count, std::int64_t k, float* out) {
  const auto step = static_cast<std::int64_t>(hn::Lanes(lanes));
  FloatLanes sum[vectors];
  for (auto& s : sum) s = hn::Zero(lanes);
  for (int r = 0; r < count; ++r) {
    const float* data = runs[r].data + k;
    const float* weight = runs[r].weights;
    for (int m = 0; m < runs[r].count; ++m, ++data, weight += runs[r].step) {
      const auto w = hn::Set(lanes, *weight);
      for (int v = 0; v < vectors; ++v) sum[v] = hn::MulAdd(w, hn::LoadU(lanes, data + v * step), sum[v]);
    }
  }
  for (int v = 0; v < vectors; ++v) hn::StoreU(sum[v], lanes, out + k + v * step);
}

void sum_runs(const ColumnRun* runs, int count, std::int64_t length, float* out) {
  const auto step = static_cast<std::int64_t>(hn::Lanes(lanes));
  std::int64_t k = 0;
  for (; k + 4 * step <= length; k += 4 * step) sum_runs_at<4>(runs, count, k, out);
  for (; k < length; k += step) sum_runs_at<1>(runs, count, k, out);
}

void spread(const float* column, const RowWeights& weights, std::int64_t length, float* row, std::int64_t stride) {
  const auto step = static_cast<std::int64_t>(hn::Lanes(lanes));
  for (int i = 0; i < weights.points; ++i) {
    const auto weight = hn::Set(lanes, weights.scale * weights.weights[i]);
    float* const out = row + i * stride;
    for (std::int64_t k = 0; k < length; k += step)
      hn::StoreU(hn::MulAdd(weight, hn::LoadU(lanes, column + k), hn::LoadU(lanes, out + k)), lanes, out + k);
  }
}

void collect(const float* row, std::int64_t stride, const RowWeights& weights, std::int64_t length, float* column) {
  const auto step = static_cast<std::int64_t>(hn::Lanes(lanes));
  const auto scale = hn::Set(lanes, weights.scale);
  for (std::int64_t k = 0; k < length; k += step) {
    auto sum = hn::Zero(lanes);
    for (int i = 0; i < weights.points; ++i)
      sum = hn::MulAdd(hn::Set(lanes, weights.weights[i]), hn::LoadU(lanes, row + i * stride + k), sum);
    hn::StoreU(hn::MulAdd(scale, sum, hn::LoadU(lanes, column + k)), lanes, column + k);
  }
}

/// Four columns of a blur at once: each column of the input is read once for all of them.
template <int vectors>
HWY_INLINE void blur_four(const float* in, const float* weights, int reach, std::int64_t stride, float* out) {
  static_assert(blur_guard == 3);
  const auto step = static_cast<std::int64_t>(hn::Lanes(lanes));
  FloatLanes sum[4][vectors];
  for (auto& column : sum)
    for (auto& s : column) s = hn::Zero(lanes);
  for (int p = 0; p <= 2 * reach + 3; ++p)
    for (int v = 0; v < vectors; ++v) {
      const auto here = hn::LoadU(lanes, in + p * stride + v * step);
      for (int b = 0; b < 4; ++b) sum[b][v] = hn::MulAdd(hn::Set(lanes, weights[p - b]), here, sum[b][v]);
    }
  for (int b = 0; b < 4; ++b)
    for (int v = 0; v < vectors; ++v) hn::StoreU(sum[b][v], lanes, out + b * stride + v * step);
}

void blur_one(const float* in, const float* weights, int reach, std::int64_t length, std::int64_t stride, float* out) {
  const auto step = static_cast<std::int64_t>(hn::Lanes(lanes));
  for (std::int64_t k = 0; k < length; k += step) {
    auto sum = hn::Zero(lanes);
    for (int p = 0; p <= 2 * reach; ++p)
      sum = hn::MulAdd(hn::Set(lanes, weights[p]), hn::LoadU(lanes, in + p * stride + k), sum);
    hn::StoreU(sum, lanes, out + k);
  }
}

void blur(const float* in, const float* weights, int reach, int count, std::int64_t length, std::int64_t stride,
          float* out) {
  const auto step = static_cast<std::int64_t>(hn::Lanes(lanes));
  int i = 0;
  for (; i + 4 <= count; i += 4) {
    const float* const from = in + i * stride;
    float* const to = out + i * stride;
    std::int64_t k = 0;
    for (; k + 2 * step <= length; k += 2 * step) blur_four<2>(from + k, weights, reach, stride, to + k);
    for (; k < length; k += step) blur_four<1>(from + k, weights, reach, stride, to + k);
  }
  for (; i < count; ++i) blur_one(in + i * stride, weights, reach, length, stride, out + i * stride);
}

}  // namespace direct_columns

const ColumnSums* column_sums_of_target() {
  using namespace direct_columns;
  static constexpr ColumnSums sums = {sum_runs, spread, collect, blur};
  return &sums;
}

TOFSTREAM_LANES_END

#if HWY_ONCE
namespace tofstream {

HWY_EXPORT(column_sums_of_target);

const ColumnSums& column_sums() {
  return *HWY_DYNAMIC_DISPATCH(column_sums_of_target)();
}

}  // namespace tofstream
#endif
// SPDX-License-Identifier: Apache-2.0
