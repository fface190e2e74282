// What the files of two_stage on CUDA share (two_stage.hpp). Voxels, and points of a view's lattice, are stored as
// columns along z. Across z, groups of four neighbouring columns read lists of columns, whose weights serve all rows
// (two_stage_lists, two_stage_gather); along z a point has weights of its own (two_stage_along, two_stage_lines). So
// forward projection gathers columns of voxels at the points of the lattice, and resamples them along z on their way
// into the convolution along the view (two_stage_convolve); back projection is its mirror image (two_stage_collect,
// or the parts one by one). All sums are in a fixed order.
#pragma once

#include <cstdint>

#include "kernels/direct/direct_projector.hpp"
#include "kernels/direct/two_stage.hpp"

namespace tofstream::two_stage {

constexpr int tap_block = 8, outputs_a_thread = 16;         // of the convolution
constexpr int spare_points = outputs_a_thread + tap_block;  // that a thread may read behind its row

/// One of a view's resamplings.
struct DeviceResampling {
  ResamplingLaw law;
  const RadialLaw* radial = nullptr;
  int profiles = 1;
};

/// Weights along z, [place][count], as two_stage_along.cuh reads them.
struct DeviceAlong {
  const float* weights = nullptr;
  const std::int32_t* starts = nullptr;
  int count = 0;  // whole fours
};

/// The same of points, as lines read them: [point][phase][blocks][tap_block], from the row on at which a point's begin.
/// Phase p of a lattice with `fine` rows a voxel has every fine-th weight from number p on.
struct DeviceTaps {
  const float* weights = nullptr;
  const std::int32_t* first_rows = nullptr;
  int blocks = 0;

  __device__ int first_row(int place) const { return __ldg(first_rows + place); }
  __device__ void read(int place, int block, float (&weight)[tap_block]) const {
    const auto* const of = reinterpret_cast<const float4*>(weights) + (place * blocks + block) * (tap_block / 4);
    const float4 low = __ldg(of), high = __ldg(of + 1);
    weight[0] = low.x, weight[1] = low.y, weight[2] = low.z, weight[3] = low.w;
    weight[4] = high.x, weight[5] = high.y, weight[6] = high.z, weight[7] = high.w;
  }
};

struct DeviceStages {
  DirectLattice between;
  ViewFrame frame;
  DeviceResampling in, out;
  const float* rest = nullptr;  // of the convolution, in whole blocks, the last ones 0
  int fine = 1, reach = 0, blocks = 1;
  DeviceAlong along;  // of points from -reach on: the first resampling's
  DeviceTaps taps;    // the same

  TOFSTREAM_HOST_DEVICE const DeviceResampling& resampling(bool is_out) const { return is_out ? out : in; }
};

/// Views at hand: slot i is place index[i] of the set. No kernel writes what is here: it is read before those that come
/// before are complete (chain.cuh).
struct StageViews {
  const DeviceStages* stages = nullptr;  // of places
  const std::int32_t* index = nullptr;
  int count = 0;
  __device__ const DeviceStages& operator[](int slot) const { return stages[index[slot]]; }
};

/// Columns along z: values[slot * slot_size + column * stride + row].
struct StageColumns {
  float* values = nullptr;
  int stride = 0;
  std::int64_t slot_size = 0;  // 0: one for all views
  __device__ float* at(int slot, int column) const { return values + slot * slot_size + std::int64_t{column} * stride; }
};

/// How the points between the stages lie in memory, alike for all views: [line][point + margin][row].
struct StageLattice {
  int lines = 0, width = 0;  // points of a line, with those beyond either end and some that stay 0
  int margin = 0;            // points before the lattice's first
  int made = 0;              // points of a line that may have values
  int rows = 0;              // whole fours

  TOFSTREAM_HOST_DEVICE std::int64_t at(int line, int point) const {
    return (std::int64_t{line} * width + point + margin) * rows;
  }
  TOFSTREAM_HOST_DEVICE std::int64_t floats() const { return std::int64_t{lines} * width * rows; }
};

constexpr unsigned parts(std::int64_t size, std::int64_t part) {
  return static_cast<unsigned>((size + part - 1) / part);
}
TOFSTREAM_HOST_DEVICE constexpr int to_four(int size) {
  return (size + 3) / 4 * 4;
}

/// columns[slot][column][z] = images[slot][z][column]; null stands for ones.
void queue_to_columns(const float* images, const Grid& grid, int slots, const StageColumns& to, Stream stream);
/// Its transpose: images[slot][z][column] = columns[slot][column][z].
void queue_from_columns(const StageColumns& from, const Grid& grid, int slots, float* images, Stream stream);
/// image[z][column] += the sum over slots.
void queue_add_columns(const StageColumns& from, const Grid& grid, int slots, float* image, Stream stream);

/// The convolution along t with the rest of the ToF response. Histo-images are [slot][z][line][point].
class Convolution {
 public:
  /// For lattices with lines of at most so many points, and so many blocks of taps along z, or none, in so many phases.
  /// Throws std::invalid_argument where they do not fit shared memory.
  Convolution(const StageLattice& lattice, int points, int taps, int phases);
  /// Points of a view's lattice, from voxels' rows at those that lie also in its margin, which `gathered` says how they
  /// lie in memory; into `points`, or where that is null into histo-images.
  void queue_inwards(const StageViews& views, const StageLattice& gathered, const float* from, int voxels,
                     float* points, float* histo, std::int64_t histo_points, Stream stream) const;
  /// The convolution's transpose: points also of the margin, from those of the lattice alone: of `points`, or where
  /// that is null of histo-images, or where these are null too from ones.
  void queue_outwards(const StageViews& views, const float* points, const float* histo, std::int64_t histo_points,
                      float* to, Stream stream) const;

 private:
  /// Of a block.
  struct Inwards {
    int rows = 0;
    unsigned threads = 0;
    std::size_t bytes = 0;
  };
  Inwards inwards_of(int rows, bool in_windows) const;
  dim3 blocks(const StageViews& views, int rows) const;

  StageLattice lattice_;
  int points_ = 0, taps_ = 0, phases_ = 1;
  bool in_windows_ = false;  // along z
  Inwards few_, many_;
  std::size_t outwards_bytes_ = 0;
};

/// The convolution's transpose and that of the resampling along z in one, of lattices with the voxels' spacing where
/// shared memory holds all rows of some points.
class CollectedLines {
 public:
  /// For lines of at most so many rows.
  CollectedLines(const StageLattice& gathered, int rows);
  bool fit() const { return fit_; }
  /// Voxels' rows of points, as `gathered` says, from histo-images, or where these are null from ones.
  void queue(const StageViews& views, const float* histo, std::int64_t histo_points, float* voxel_rows,
             Stream stream) const;

 private:
  StageLattice gathered_;
  int first_floats_ = 0;
  unsigned threads_ = 0;
  std::size_t bytes_ = 0;
  bool fit_ = false;
};

}  // namespace tofstream::two_stage
// SPDX-License-Identifier: Apache-2.0
