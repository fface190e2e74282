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
      : weights(along.weights + place * along.count), start(along.starts[place]), count(along.count), fine(fine) {}

  /// Four rows from `row` on, a whole four, of what voxels give to them.
  __device__ void to_rows(const float* voxels, int count_of_voxels, int row, float (&sums)[4]) const {
    const int from = row - start;
    for (int b = 0; fine == 1 && b < count; b += 4) {
      const float4 weight = *reinterpret_cast<const float4*>(weights + b);
      float given[8];
      read_four(voxels, from - b - 4, count_of_voxels, given);
      read_four(voxels, from - b, count_of_voxels, given + 4);
#pragma unroll
      for (int r = 0; r < 4; ++r)
        sums[r] +=
            weight.x * given[r + 4] + weight.y * given[r + 3] + weight.z * given[r + 2] + weight.w * given[r + 1];
    }
    for (int r = 0; fine > 1 && r < 4; ++r) {
      const int skipped = ((from + r) % fine + fine) % fine;
      for (int m = skipped, z = (from + r - skipped) / fine; m < count; m += fine, --z)
        if (z >= 0 && z < count_of_voxels) sums[r] += weights[m] * voxels[z];
    }
  }

  /// The transpose: four voxels from `voxel` on, a whole four.
  __device__ void to_voxels(const float* rows, int count_of_rows, int voxel, float (&sums)[4]) const {
    const int first = start + fine * voxel;
    for (int b = 0; fine == 1 && b < count; b += 4) {
      const float4 weight = *reinterpret_cast<const float4*>(weights + b);
      float given[8];
      read_four(rows, first + b, count_of_rows, given);
      read_four(rows, first + b + 4, count_of_rows, given + 4);
#pragma unroll
      for (int r = 0; r < 4; ++r)
        sums[r] += weight.x * given[r] + weight.y * given[r + 1] + weight.z * given[r + 2] + weight.w * given[r + 3];
    }
    for (int r = 0; fine > 1 && r < 4; ++r)
      for (int m = 0; m < count; ++m) {
        const int row = first + fine * r + m;
        if (row >= 0 && row < count_of_rows) sums[r] += weights[m] * rows[row];
      }
  }

 private:
  /// values[first, first + 4), a whole four, of which those from `size` on are 0, as are those before 0.
  static __device__ void read_four(const float* values, int first, int size, float* to) {
    const float4 four =
        first >= 0 && first < size ? *reinterpret_cast<const float4*>(values + first) : float4{0, 0, 0, 0};
    to[0] = four.x;
    to[1] = first + 1 < size ? four.y : 0;
    to[2] = first + 2 < size ? four.z : 0;
    to[3] = first + 3 < size ? four.w : 0;
  }
};

/// Voxels' rows of points, [slot][line][point][rows], from rows of the lattice at the points: the first resampling's
/// transpose along z. `from` and `to` say how either lies in memory.
void queue_from_points(const StageViews& views, const StageLattice& from, const float* points, const StageLattice& to,
                       int voxels, float* voxel_rows, Stream stream);

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
