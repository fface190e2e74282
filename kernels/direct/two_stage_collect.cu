// Back projection through lines of a view's lattice, for two_stage on CUDA: the convolution's transpose and then that
// of the resampling along z, which needs all rows of a point, but no other points. So a block has all rows of some
// points. See two_stage_cuda.cuh.
#include <algorithm>

#include "kernels/cuda/chain.cuh"
#include "kernels/cuda/check.hpp"
#include "kernels/direct/two_stage_lines.cuh"

namespace tofstream::two_stage {

namespace {

constexpr int collect_threads = 256, collect_blocks = 4;
constexpr int points_a_block = 64, segments = points_a_block / outputs_a_thread;
constexpr int guard = outputs_a_thread + tap_block - 1;  // zeros that a block of weights reads beyond a column's end

/// Points of a line that a block's own read: from 2 reach before the first on, as far as whole blocks of weights go.
TOFSTREAM_HOST_DEVICE int points_read(int reach) {
  return points_a_block + tap_block - 1 + 2 * reach;
}

/// Columns of points, with zeros between them that those on either side share; an odd number of floats apart.
struct GuardedColumns {
  float* values = nullptr;
  int stride = 0;

  __device__ float* at(int point, int row) const { return values + guard + point * stride + row; }
  TOFSTREAM_HOST_DEVICE static int stride_of(int rows) { return LineRows::odd(rows + guard); }
  TOFSTREAM_HOST_DEVICE static int floats(int rows) { return guard + points_a_block * stride_of(rows); }
  __device__ void clear_guards(int rows) const {
    const int lane = static_cast<int>(threadIdx.x) % lanes_of_warp;
    if (threadIdx.x < guard) values[threadIdx.x] = 0;
    if (lane < stride - rows)  // a guard and one are fewer than lanes
      for (int p = static_cast<int>(threadIdx.x) / lanes_of_warp; p < points_a_block;
           p += static_cast<int>(blockDim.x) / lanes_of_warp)
        *at(p, rows + lane) = 0;
  }
};

/// The block's points from those that they read, of a line of `count`.
__device__ void convolve_line(const float* rest, int blocks, int reach, int count, int first_point,
                              const LineRows& given, int rows, const GuardedColumns& made) {
  for (int n = static_cast<int>(threadIdx.x); n < rows * segments; n += static_cast<int>(blockDim.x)) {
    const int segment = n / rows, row = n - segment * rows, first = segment * outputs_a_thread;
    // The first point of the line that is read; blocks of weights that meet none are left out.
    const int from = first_point + first - 2 * reach, begin = max(0, (-from - outputs_a_thread + 1) / tap_block);
    const int end = min(blocks, (count - from + tap_block - 1) / tap_block);
    float sums[outputs_a_thread];
    convolve(given.at(row, first), rest, begin, end, sums);
    float* to = made.at(first, row);
#pragma unroll
    for (int e = 0; e < outputs_a_thread; ++e, to += made.stride) *to = sums[e];
  }
}

/// What the rows of the block's points, of `width` that have values, give to voxels along z.
__device__ void collect_along_z(const DeviceTaps& taps, const GuardedColumns& from, int first_point, int width,
                                int rows, int voxel_rows, float* to, int stride) {
  const int parts_of_column = (voxel_rows + outputs_a_thread - 1) / outputs_a_thread;
  for (int n = static_cast<int>(threadIdx.x); n < points_a_block * parts_of_column; n += static_cast<int>(blockDim.x)) {
    const int p = n % points_a_block, voxel = n / points_a_block * outputs_a_thread;
    const int place = first_point + p;
    if (static_cast<unsigned>(place) >= static_cast<unsigned>(width)) continue;
    int row = taps.first_row(place) + voxel;
    float sums[outputs_a_thread] = {};
#pragma unroll 1
    for (int b = 0; b < taps.blocks; ++b, row += tap_block) {
      float weight[tap_block];
      taps.read(place, b, weight);
      // Further from the column's ends all is 0, as it is there.
      const float* const given = from.at(p, min(max(row, -guard), rows));
      add_taps(
          weight, [&](int i) { return given[i]; }, sums);
    }
    float* const out = to + p * stride + voxel;
#pragma unroll
    for (int e = 0; e < outputs_a_thread; ++e) out[e] = sums[e];
  }
}

/// Of a point's voxels, made in whole parts: odd, so that neighbouring points use different banks.
TOFSTREAM_HOST_DEVICE int stride_of_voxels(int voxel_rows) {
  return LineRows::odd((voxel_rows + outputs_a_thread - 1) / outputs_a_thread * outputs_a_thread);
}

/// [point][rows], of the block's points in memory, from columns of those of the view; 0 for the others.
__device__ void store_columns(const float* columns, int stride, int first, int width, const StageLattice& at,
                              int points, float* to) {
  constexpr int lanes = 16;
  const int step = static_cast<int>(blockDim.x) / lanes;
  for (int row = 4 * (static_cast<int>(threadIdx.x) % lanes); row < at.rows; row += 4 * lanes)
    for (int point = static_cast<int>(threadIdx.x) / lanes; point < points; point += step) {
      const float* const from = columns + point * stride + row;
      float4 four{0, 0, 0, 0};
      if (static_cast<unsigned>(first + point) < static_cast<unsigned>(width))
        four = {from[0], from[1], from[2], from[3]};
      *reinterpret_cast<float4*>(to + point * at.rows + row) = four;
    }
}

/// Voxels' rows of points, [slot][line][point][rows], from histo-images, or where these are null from ones.
__global__ void __launch_bounds__(collect_threads, collect_blocks)
    convolve_and_collect(StageViews views, int first_floats, const float* histo, std::int64_t histo_points,
                         StageLattice to, float* voxel_rows) {
  extern __shared__ float shared[];
  const int j = static_cast<int>(blockIdx.y), slot = static_cast<int>(blockIdx.z);
  const DeviceStages& stages = views[slot];
  const int count = stages.between.size[0], lines = stages.between.size[1], rows = stages.between.size[2];
  const int reach = stages.reach, width = count + 2 * reach;
  // The points in memory, and those that have values.
  const int first_in_memory = static_cast<int>(blockIdx.x) * points_a_block;
  const int points = min(points_a_block, to.made - first_in_memory), first = first_in_memory - to.margin + reach;
  const int blocks = stages.blocks;
  const DeviceTaps taps = stages.taps;
  float* const rest = shared;
  const LineRows given{rest + blocks * tap_block, LineRows::odd(points_read(reach))};
  const GuardedColumns made{given.values + first_floats, GuardedColumns::stride_of(rows)};
  load_rest(stages, rest);
  made.clear_guards(rows);
  chain::wait_for_those_before();
  if (j >= lines) return;
  load_histo(histo ? histo + slot * histo_points + stages.between.index(0, j, 0) : nullptr, std::int64_t{count} * lines,
             rows, count, first - 2 * reach, points_read(reach), given);
  __syncthreads();
  convolve_line(rest, blocks, reach, count, first, given, rows, made);
  __syncthreads();
  const int stride = stride_of_voxels(to.rows);
  collect_along_z(taps, made, first, width, rows, to.rows, given.values, stride);
  __syncthreads();
  store_columns(given.values, stride, first, width, to, points,
                voxel_rows + slot * to.floats() + to.at(j, first_in_memory - to.margin));
}

}  // namespace

CollectedLines::CollectedLines(const StageLattice& gathered, int rows) : gathered_(gathered) {
  first_floats_ =
      std::max(rows * LineRows::odd(points_read(gathered.margin)), points_a_block * stride_of_voxels(gathered.rows));
  bytes_ = memory_of_rest(gathered.margin) +
           sizeof(float) * static_cast<std::size_t>(first_floats_ + GuardedColumns::floats(rows));
  threads_ = threads_for(rows * segments, collect_threads);
  fit_ = bytes_ <= most_shared_bytes();
  if (fit_) take_shared(convolve_and_collect);
}

void CollectedLines::queue(const StageViews& views, const float* histo, std::int64_t histo_points, float* voxel_rows,
                           Stream stream) const {
  const dim3 blocks(parts(gathered_.made, points_a_block), static_cast<unsigned>(gathered_.lines),
                    static_cast<unsigned>(views.count));
  chain::launch("convolve views and collect their rows", convolve_and_collect, blocks, threads_, bytes_, stream, views,
                first_floats_, histo, histo_points, gathered_, voxel_rows);
}

}  // namespace tofstream::two_stage
// SPDX-License-Identifier: Apache-2.0
