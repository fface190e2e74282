// The sums of neighbour_arrays.hpp on CUDA where all 26 neighbours count: a thread goes along z and keeps the slices
// about its voxel in registers, so it reads nine values a voxel and not 27. Internal to the priors.
#pragma once

#include <cstdint>

#include "kernels/prior/neighbour_arrays.hpp"

namespace tofstream::detail {

constexpr int columns_a_block = 128;
constexpr int slices_a_thread = 24;  // whole threes

/// A column along z with its eight neighbours. Beyond the image lies the nearest voxel inside.
class NeighbourColumns {
 public:
  __device__ NeighbourColumns(const NeighbourArrays<float>& arrays, int i, int j)
      : slice_(std::int64_t{arrays.size[0]} * arrays.size[1]), last_(arrays.size[2] - 1) {
#pragma unroll
    for (int n = 0; n < 9; ++n)
      at_[n] = arrays.clamped(i + n % 3 - 1, 0) + arrays.size[0] * arrays.clamped(j + n / 3 - 1, 1);
  }
  __device__ void read(const float* image, int k, float (&slice)[9]) const {
    const float* const from = image + slice_ * min(max(k, 0), last_);
#pragma unroll
    for (int n = 0; n < 9; ++n) slice[n] = __ldg(from + at_[n]);
  }
  __device__ std::int64_t index(int k) const {
    return slice_ * k + at_[4];
  }

 private:
  std::int64_t slice_;
  int last_;
  int at_[9];
};

/// Weights of a voxel's neighbours, 0 for those beyond the image unless they count as the nearest inside.
struct ColumnWeights {
  float of[3][9];

  __device__ ColumnWeights(const NeighbourArrays<float>& arrays, int i, int j) {
#pragma unroll
    for (int n = 0; n < 9; ++n) {
      const bool counts =
          arrays.replicate || (arrays.is_inside(i + n % 3 - 1, 0) && arrays.is_inside(j + n / 3 - 1, 1));
#pragma unroll
      for (int s = 0; s < 3; ++s) of[s][n] = counts ? arrays.weights[9 * s + n] : 0.0f;
    }
  }
};

template <bool has_kappa, class Part, class P>
__global__ void __launch_bounds__(columns_a_block)
    sum_columns(NeighbourArrays<float> arrays, Part part, P potential, float* sums) {
  const int column = static_cast<int>(blockIdx.x * columns_a_block + threadIdx.x);
  if (column >= arrays.size[0] * arrays.size[1]) return;
  const int i = column % arrays.size[0], j = column / arrays.size[0];
  const int first = static_cast<int>(blockIdx.y) * slices_a_thread, end = min(first + slices_a_thread, arrays.size[2]);
  const NeighbourColumns columns(arrays, i, j);
  const ColumnWeights weights(arrays, i, j);
  float image[3][9], kappa[3][9];  // slice k lies at (k - first) % 3
  const auto read = [&](int k, int to) {
    columns.read(arrays.image, k, image[to]);
    if (has_kappa) columns.read(arrays.kappa, k, kappa[to]);
  };
  read(first - 1, 2);
  read(first, 0);
  for (int k = first; k < end; k += 3)
#pragma unroll
    for (int here = 0; here < 3; ++here) {
      if (k + here >= end) break;
      read(k + here + 1, (here + 1) % 3);
      float sum = 0;
#pragma unroll
      for (int s = 0; s < 3; ++s) {
        if (!arrays.replicate && !arrays.is_inside(k + here + s - 1, 2)) continue;
        const int other = (here + s + 2) % 3;
#pragma unroll
        for (int n = 0; n < 9; ++n) {
          if (s == 1 && n == 4) continue;
          const float weight = has_kappa ? weights.of[s][n] * kappa[other][n] : weights.of[s][n];
          sum += weight * part(potential, image[here][4], image[other][n]);
        }
      }
      sums[columns.index(k + here)] = has_kappa ? kappa[here][4] * sum : sum;
    }
}

inline dim3 blocks_of_columns(const NeighbourArrays<float>& arrays) {
  const auto parts = [](int n, int part) { return static_cast<unsigned>((n + part - 1) / part); };
  return {parts(arrays.size[0] * arrays.size[1], columns_a_block), parts(arrays.size[2], slices_a_thread)};
}

/// Whether sum_columns() takes such a prior.
inline bool has_whole_columns(const NeighbourArrays<float>& arrays) {
  for (int n = 0; n < 27; ++n)
    if (n != 13 && arrays.weights[n] == 0) return false;
  return !arrays.chosen;
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
