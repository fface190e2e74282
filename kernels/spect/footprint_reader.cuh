// An image in columns, read at the footprint of a lattice point, four rows at a time.
#pragma once

#include "kernels/spect/spect_cuda.cuh"

namespace tofstream::spect {

__device__ inline void add_scaled(float4& sum, float weight, float4 value) {
  sum.x += weight * value.x;
  sum.y += weight * value.y;
  sum.z += weight * value.z;
  sum.w += weight * value.w;
}
__device__ inline void multiply(float4& value, float4 factor) {
  value.x *= factor.x;
  value.y *= factor.y;
  value.z *= factor.z;
  value.w *= factor.w;
}
/// `offset` is a multiple of four.
__device__ inline float4 four_at(const float* values, std::int64_t offset) {
  return reinterpret_cast<const float4*>(values)[offset / 4];
}
/// `values` lies at a multiple of two.
__device__ inline float2 two_at(const float* values) {
  return *reinterpret_cast<const float2*>(values);
}
__device__ inline void put_two(float* values, float2 value) {
  // As one number: compilers make two stores of a float2.
  *reinterpret_cast<double*>(values) = __hiloint2double(__float_as_int(value.y), __float_as_int(value.x));
}
__device__ inline void put_four(float* values, std::int64_t offset, float4 value) {
  reinterpret_cast<float4*>(values)[offset / 4] = value;
}

/// Eight rows of two columns that neighbouring lanes have, as they write them: both of them one column at a time, the
/// even lane its first four rows and the odd lane the others, so that a sector of memory is written whole.
struct PairedRows {
  float4 of_even, of_odd;  // of the even lane's column, and of the odd one's

  /// Pairs a lane's first four rows with the others. All lanes of the warp call.
  __device__ PairedRows(float4 first, float4 others) {
    const bool is_odd = threadIdx.x % 2 != 0;
    const float4 given = is_odd ? first : others;
    const float4 got{__shfl_xor_sync(~0u, given.x, 1), __shfl_xor_sync(~0u, given.y, 1),
                     __shfl_xor_sync(~0u, given.z, 1), __shfl_xor_sync(~0u, given.w, 1)};
    of_even = is_odd ? got : first;
    of_odd = is_odd ? others : got;
  }
  /// Which of the eight rows is the first that the lane writes.
  __device__ static int first_row() { return threadIdx.x % 2 == 0 ? 0 : 4; }
};

/// Weights of the columns about a point: at `base`, beside it along x, along y, and along both.
struct FootprintWeights {
  float here, beside_x, beside_y, beside_both;
  __device__ explicit FootprintWeights(float2 beyond)
      : here((1 - beyond.x) * (1 - beyond.y)),
        beside_x(beyond.x * (1 - beyond.y)),
        beside_y((1 - beyond.x) * beyond.y),
        beside_both(beyond.x * beyond.y) {}
  /// That of a column, 0 for one that is not about the point.
  __device__ float of(int column, int base, int width) const {
    const int beside = column - base;
    if (beside == 0) return here;
    if (beside == 1) return beside_x;
    if (beside == width) return beside_y;
    return beside == width + 1 ? beside_both : 0.0f;
  }
};

struct FootprintReader {
  const float* columns;
  int stride, next_row;  // floats to the columns beside along x and y

  __device__ FootprintReader(const ColumnGrid& grid, const float* from, int row_stride)
      : columns(from), stride(row_stride), next_row(grid.width() * row_stride) {}
  __device__ float4 at(std::int32_t base, float2 beyond, int row) const {
    const FootprintWeights weights(beyond);
    const float* const from = columns + static_cast<std::int64_t>(base) * stride + row;
    float4 sum{};
    add_scaled(sum, weights.here, four_at(from, 0));
    add_scaled(sum, weights.beside_x, four_at(from, stride));
    add_scaled(sum, weights.beside_y, four_at(from, next_row));
    add_scaled(sum, weights.beside_both, four_at(from, next_row + stride));
    return sum;
  }
};

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
