// Resamplings along z: see two_stage_along.cuh.
#include "kernels/cuda/chain.cuh"
#include "kernels/cuda/check.hpp"
#include "kernels/direct/two_stage_along.cuh"

namespace tofstream::two_stage {

namespace {

constexpr int along_threads = 256;

/// A block has some neighbouring places and a thread four rows of one.
struct PlaceShare {
  int place = 0, first = 0;
  __device__ explicit PlaceShare(int rows) {
    const unsigned n = blockIdx.x * along_threads + threadIdx.x, fours = static_cast<unsigned>(rows) / 4;
    place = static_cast<int>(n / fours);
    first = 4 * static_cast<int>(n % fours);
  }
};

__device__ void store_four(float* to, const float (&values)[4]) {
  *reinterpret_cast<float4*>(to) = {values[0], values[1], values[2], values[3]};
}

__global__ void __launch_bounds__(along_threads)
    from_points(StageViews views, StageLattice from, const float* points, StageLattice to, float* voxel_rows) {
  chain::wait_for_those_before();
  const PlaceShare share(to.rows);
  const int slot = static_cast<int>(blockIdx.y), line = share.place / to.made, point = share.place % to.made;
  const DeviceStages& stages = views[slot];
  const int i = point - to.margin;
  if (line >= stages.between.size[1]) return;
  float sums[4] = {};
  if (i >= -stages.reach && i < stages.between.size[0] + stages.reach)
    AlongZ(stages.along, i + stages.reach, stages.fine)
        .to_voxels(points + slot * from.floats() + from.at(line, i), stages.between.size[2], share.first, sums);
  store_four(voxel_rows + slot * to.floats() + to.at(line, i) + share.first, sums);
}

__global__ void __launch_bounds__(along_threads) weights_at_columns(StageViews views, DirectLattice voxels, int columns,
                                                                    int stride, float* weights, std::int32_t* starts) {
  const int column = static_cast<int>(blockIdx.x * along_threads + threadIdx.x), slot = static_cast<int>(blockIdx.y);
  if (column >= columns) return;
  const DeviceStages& stages = views[slot];
  const Vec3d at = voxels.position(column % voxels.size[0], column / voxels.size[0], 0);
  const std::int64_t table = std::int64_t{slot} * columns + column;
  for (int m = stages.out.law.count_z; m < stride; ++m) weights[table * stride + m] = 0;
  starts[table] = make_along(stages.out.law, stages.between.coordinates(at).z, weights + table * stride);
}

__global__ void __launch_bounds__(along_threads)
    columns_to_rows(StageViews views, DeviceAlong along, int columns, StageColumns from, int voxels, int row_count,
                    float* rows) {
  chain::wait_for_those_before();
  const PlaceShare share(row_count);
  if (share.place >= columns) return;
  const int slot = static_cast<int>(blockIdx.y);
  const std::int64_t table = std::int64_t{slot} * columns + share.place;
  float sums[4] = {};
  AlongZ(along, table, views[slot].fine).to_rows(from.at(slot, share.place), voxels, share.first, sums);
#pragma unroll
  for (int r = 0; r < 4; ++r)
    if (share.first + r >= views[slot].between.size[2]) sums[r] = 0;
  store_four(rows + table * row_count + share.first, sums);
}

__global__ void __launch_bounds__(along_threads) columns_to_voxels(StageViews views, DeviceAlong along, int columns,
                                                                   const float* rows, int row_count, StageColumns to) {
  chain::wait_for_those_before();
  const PlaceShare share(to.stride);
  if (share.place >= columns) return;
  const int slot = static_cast<int>(blockIdx.y);
  const std::int64_t table = std::int64_t{slot} * columns + share.place;
  float sums[4] = {};
  AlongZ(along, table, views[slot].fine)
      .to_voxels(rows + table * row_count, views[slot].between.size[2], share.first, sums);
  store_four(to.at(slot, share.place) + share.first, sums);
}

dim3 blocks_of(std::int64_t places, int rows, const StageViews& views) {
  return {parts(places * (rows / 4), along_threads), static_cast<unsigned>(views.count)};
}

}  // namespace

void queue_from_points(const StageViews& views, const StageLattice& from, const float* points, const StageLattice& to,
                       float* voxel_rows, Stream stream) {
  chain::launch("collect rows along z", from_points, blocks_of(std::int64_t{to.lines} * to.made, to.rows, views),
                along_threads, 0, stream, views, from, points, to, voxel_rows);
}

void HistoColumns::prepare(const StageViews& views, Stream stream) {
  const std::int64_t tables = std::int64_t{views.count} * columns();
  if (starts_.size() < tables) {
    weights_ = Buffer<float>(Memory::device, tables * stride_, stream);
    starts_ = Buffer<std::int32_t>(Memory::device, tables, stream);
  }
  weights_at_columns<<<dim3(parts(columns(), along_threads), static_cast<unsigned>(views.count)), along_threads, 0,
                       stream>>>(views, DirectLattice::of(grid_, HistoLattice::image, {}), columns(), stride_,
                                 weights_.data(), starts_.data());
  check_launch("make the weights of columns");
}

void HistoColumns::queue_to_rows(const StageViews& views, const StageColumns& voxels, float* rows, Stream stream) {
  const DeviceAlong along{weights_.data(), starts_.data(), stride_};
  chain::launch("spread voxels along z", columns_to_rows, blocks_of(columns(), lattice_.rows, views), along_threads, 0,
                stream, views, along, columns(), voxels, grid_.size[2], lattice_.rows, rows);
}

void HistoColumns::queue_to_voxels(const StageViews& views, const float* rows, const StageColumns& voxels,
                                   Stream stream) {
  const DeviceAlong along{weights_.data(), starts_.data(), stride_};
  chain::launch("collect rows along z", columns_to_voxels, blocks_of(columns(), voxels.stride, views), along_threads, 0,
                stream, views, along, columns(), rows, lattice_.rows, voxels);
}

}  // namespace tofstream::two_stage
// SPDX-License-Identifier: Apache-2.0
