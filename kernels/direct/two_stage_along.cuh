// The resamplings of two_stage along z on CUDA: of points of a view's lattice, and, for histo-images on the image's
// lattice, of columns of voxels. See two_stage_cuda.cuh.
#pragma once

#include "kernels/direct/two_stage_cuda.cuh"

namespace tofstream::two_stage {

/// Weights along z of a place. On as many rows as voxels they begin at whole fours, so that four rows are made of whole
/// fours of voxels, and four voxels of whole fours of rows.
struct AlongZ {
  const float* weights = nullptr;
  int start = 0, count = 0, fine = 1;

  __device__ AlongZ(const DeviceAlong& along, std::int64_t place, int fine)
      : weights(along.weights + place * along.count),
        start(__ldg(along.starts + place)),
        count(along.count),
        fine(fine) {}

  /// Adds to four rows from `row` on, a whole four, what voxels give to them. Behind the last voxel there are zeros up to
  /// a whole four.
  __device__ void to_rows(const float* voxels, int count_of_voxels, int row, float (&sums)[4]) const {
    const int from = row - start;
    if (fine > 1) return to_fine_rows(voxels, count_of_voxels, from, sums);
    // Row r has weight m of voxel from + r - m.
    for_each_part([&]<int fours>(int b) {
      float given[4 * fours + 4];
      read<fours + 1>(voxels, from - b - 4 * fours, count_of_voxels, given);
      float weight[4 * fours];
      read<fours>(weights, b, count, weight);
#pragma unroll
      for (int m = 0; m < 4 * fours; ++m)
#pragma unroll
        for (int r = 0; r < 4; ++r) sums[r] += weight[m] * given[4 * fours + r - m];
    });
  }

  /// The transpose: four voxels from `voxel` on, a whole four. Behind the last row there are zeros up to a whole four.
  __device__ void to_voxels(const float* rows, int count_of_rows, int voxel, float (&sums)[4]) const {
    const int first = start + fine * voxel;
    if (fine > 1) return to_coarse_voxels(rows, count_of_rows, first, sums);
    for_each_part([&]<int fours>(int b) {
      float given[4 * fours + 4];
      read<fours + 1>(rows, first + b, count_of_rows, given);
      float weight[4 * fours];
      read<fours>(weights, b, count, weight);
#pragma unroll
      for (int m = 0; m < 4 * fours; ++m)
#pragma unroll
        for (int r = 0; r < 4; ++r) sums[r] += weight[m] * given[r + m];
    });
  }

 private:
  /// take<fours>(first weight), for all weights in turn: at best three fours at once, whose loads then overlap.
  template <class Take>
  __device__ void for_each_part(const Take& take) const {
    int b = 0;
    for (; b + 12 <= count; b += 12) take.template operator()<3>(b);
    if (b + 8 <= count) {
      take.template operator()<2>(b);
      b += 8;
    }
    if (b < count) take.template operator()<1>(b);
  }

  /// values[first, first + 4 fours), whole fours; 0 where these are before 0 or from `size` on.
  template <int fours>
  static __device__ void read(const float* values, int first, int size, float* to) {
#pragma unroll
    for (int f = 0; f < fours; ++f) {
      const bool is_there = static_cast<unsigned>(first + 4 * f) < static_cast<unsigned>(size);
      const float4 four = is_there ? *reinterpret_cast<const float4*>(values + first + 4 * f) : float4{0, 0, 0, 0};
      to[4 * f] = four.x, to[4 * f + 1] = four.y, to[4 * f + 2] = four.z, to[4 * f + 3] = four.w;
    }
  }

  __device__ void to_fine_rows(const float* voxels, int count_of_voxels, int from, float (&sums)[4]) const {
    for (int r = 0; r < 4; ++r) {
      const int skipped = ((from + r) % fine + fine) % fine;
      for (int m = skipped, z = (from + r - skipped) / fine; m < count; m += fine, --z)
        if (z >= 0 && z < count_of_voxels) sums[r] += weights[m] * voxels[z];
    }
  }
  __device__ void to_coarse_voxels(const float* rows, int count_of_rows, int first, float (&sums)[4]) const {
    for (int r = 0; r < 4; ++r)
      for (int m = 0; m < count; ++m) {
        const int row = first + fine * r + m;
        if (row >= 0 && row < count_of_rows) sums[r] += weights[m] * rows[row];
      }
  }
};

/// Voxels' rows of points, [slot][line][point][rows], from rows of the lattice at the points: the first resampling's
/// transpose along z. `from` and `to` say how either lies in memory.
void queue_from_points(const StageViews& views, const StageLattice& from, const float* points, const StageLattice& to,
                       float* voxel_rows, Stream stream);

/// The second resampling along z: columns of histo-images on the image's lattice.
class HistoColumns {
 public:
  HistoColumns(const Grid& grid, const StageLattice& lattice, int most_weights)
      : grid_(grid), lattice_(lattice), stride_(to_four(most_weights)) {}

  /// Before the others, for these views.
  void prepare(const StageViews& views, Stream stream);
  /// rows[slot][column] = what the column's voxels give to rows of the lattice.
  void queue_to_rows(const StageViews& views, const StageColumns& voxels, float* rows, Stream stream);
  /// Its transpose.
  void queue_to_voxels(const StageViews& views, const float* rows, const StageColumns& voxels, Stream stream);

 private:
  int columns() const { return static_cast<int>(grid_.stride(2)); }

  Grid grid_;
  StageLattice lattice_;
  int stride_ = 0;
  Buffer<float> weights_;  // [slot][column][stride]
  Buffer<std::int32_t> starts_;
};

}  // namespace tofstream::two_stage
// SPDX-License-Identifier: Apache-2.0
