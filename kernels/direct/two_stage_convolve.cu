// The second stage of two_stage on CUDA: the convolution along the view, and images as columns. See two_stage_cuda.cuh.
#include <algorithm>
#include <stdexcept>

#include "kernels/cuda/chain.cuh"
#include "kernels/cuda/check.hpp"
#include "kernels/direct/two_stage_along.cuh"

namespace tofstream::two_stage {

namespace {

// A warp has neighbouring rows, and each thread some neighbouring points of a row.
constexpr int rows_a_block = 32, most_threads = 384, least_blocks = 3;
constexpr int memory_stride = rows_a_block + 1;  // of shared memory: neighbouring points then use different banks
constexpr int flip_tile = 32, flip_rows = 8;

__device__ float4 four_of(const float* values) {
  return *reinterpret_cast<const float4*>(values);
}

/// sums[e] = the convolution at the point e behind `from`, in shared memory.
__device__ void convolve(const float* from, const DeviceStages& stages, float (&sums)[outputs_a_thread]) {
#pragma unroll
  for (float& sum : sums) sum = 0;
  const int blocks = stages.blocks;
  const float* rest = stages.rest;
  for (int b = 0; b < blocks; ++b, rest += tap_block, from += tap_block * memory_stride) {
    const float4 low = four_of(rest), high = four_of(rest + 4);
    const float weight[tap_block] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int i = 0; i < outputs_a_thread + tap_block - 1; ++i) {
      const float value = from[i * memory_stride];
#pragma unroll
      for (int t = 0; t < tap_block; ++t)
        if (i - t >= 0 && i - t < outputs_a_thread) sums[i - t] += weight[t] * value;
    }
  }
}

/// A thread's row, and where its points begin: a warp takes every so many.
struct Share {
  int row = 0, lane = 0, first = 0, step = 0;
  __device__ Share()
      : row(static_cast<int>(blockIdx.z) * rows_a_block + static_cast<int>(threadIdx.x) % rows_a_block),
        lane(static_cast<int>(threadIdx.x) % rows_a_block),
        first(static_cast<int>(threadIdx.x) / rows_a_block * outputs_a_thread),
        step(static_cast<int>(blockDim.x) / rows_a_block * outputs_a_thread) {}
};

/// work(row, point) for the block's rows of a line, by threads that are neighbours in a histo-image.
template <class Work>
__device__ void for_each_of_histo(int rows, int points, const Work& work) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  for (int k = warp; k < rows; k += static_cast<int>(blockDim.x) / 32)
#pragma unroll 4
    for (int i = lane; i < points; i += 32) work(k, i);
}

/// Shared memory for points [begin, begin + count) of a line as the convolution reads them: what is not given is 0.
struct GivenPoints {
  float* values;
  int before, count;  // points before the line's first, and all

  __device__ GivenPoints(float* values, int before, int points, int behind)
      : values(values), before(before), count(before + points + behind) {}
  __device__ float* at(int point) const { return values + (before + point) * memory_stride; }
  /// All but [begin, end).
  __device__ void clear_around(int begin, int end) const {
    const int first = (before + begin) * memory_stride, last = (before + end) * memory_stride;
    for (int n = static_cast<int>(threadIdx.x); n < first; n += static_cast<int>(blockDim.x)) values[n] = 0;
    for (int n = last + static_cast<int>(threadIdx.x); n < count * memory_stride; n += static_cast<int>(blockDim.x))
      values[n] = 0;
  }
  /// [begin, end), of points with `rows` rows that are whole fours and lie `stride` apart.
  __device__ void copy(const float* line, int stride, int begin, int end, int rows) const {
    constexpr int quads = rows_a_block / 4;
    const int quad = static_cast<int>(threadIdx.x) % quads, step = static_cast<int>(blockDim.x) / quads;
    if (4 * quad >= rows) return;
    for (int i = begin + static_cast<int>(threadIdx.x) / quads; i < end; i += step) {
      const float4 four = four_of(line + i * stride + 4 * quad);
      float* const to = at(i) + 4 * quad;
      to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
    }
  }
  /// All points, of voxels' rows that lie `stride` apart: rows from first_row on, 0 where the lattice has none.
  __device__ void resample(const DeviceStages& stages, const float* line, int stride, int voxels, int first_row,
                           int rows) const {
    constexpr int quads = rows_a_block / 4;
    const int quad = static_cast<int>(threadIdx.x) % quads, step = static_cast<int>(blockDim.x) / quads;
    // In registers: shared memory is written below, which the compiler cannot tell from where these lie.
    const DeviceAlong along = stages.along;
    const int fine = stages.fine, end = stages.between.size[0] + 2 * before, row = first_row + 4 * quad;
    const float* of_point = line - std::int64_t{before} * stride;
    for (int i = static_cast<int>(threadIdx.x) / quads; i < end; i += step) {
      float sums[4] = {};
      if (row < rows) AlongZ(along, i, fine).to_rows(of_point + i * stride, voxels, row, sums);
      float* const to = values + i * memory_stride + 4 * quad;
#pragma unroll
      for (int r = 0; r < 4; ++r) to[r] = row + r < rows ? sums[r] : 0;
    }
  }
};

/// Points of the lattice from voxels' rows at those that lie also in its margin; into `points`, or where that is null
/// into histo-images.
__global__ void __launch_bounds__(most_threads, least_blocks)
    convolve_inwards(StageViews views, StageLattice at, StageLattice gathered, const float* from, int voxels,
                     float* points, float* histo, std::int64_t histo_points) {
  extern __shared__ float shared[];
  chain::wait_for_those_before();
  const Share share;
  const int j = static_cast<int>(blockIdx.x), slot = static_cast<int>(blockIdx.y);
  const DeviceStages& stages = views[slot];
  const DirectLattice& lattice = stages.between;
  const int count = lattice.size[0], reach = stages.reach;
  if (j >= lattice.size[1]) return;
  const int first_row = static_cast<int>(blockIdx.z) * rows_a_block;
  const GivenPoints given(shared, reach, count, reach + spare_points);
  // In a single round all is read before anything is made.
  float* const made = share.step >= count ? shared : shared + given.count * memory_stride;
  given.clear_around(-reach, count + reach);
  given.resample(stages, from + slot * gathered.floats() + gathered.at(j, 0), gathered.rows, voxels, first_row,
                 lattice.size[2]);
  __syncthreads();
  for (int round = 0; round < count; round += share.step) {
    const int first = round + share.first;
    const bool has_points = first < count && share.row < at.rows;
    float sums[outputs_a_thread];
    if (has_points) convolve(given.at(first - reach) + share.lane, stages, sums);
    if (made == shared) __syncthreads();
    if (!has_points) continue;
    float* const to = points ? points + slot * at.floats() + at.at(j, first) + share.row : nullptr;
#pragma unroll
    for (int e = 0; e < outputs_a_thread; ++e) {
      if (first + e >= count) break;
      if (to)
        to[e * at.rows] = sums[e];
      else
        made[(first + e) * memory_stride + share.lane] = sums[e];
    }
  }
  if (points) return;
  __syncthreads();
  float* const to = histo + slot * histo_points + lattice.index(0, j, first_row);
  const std::int64_t slice = std::int64_t{count} * lattice.size[1];
  for_each_of_histo(min(rows_a_block, lattice.size[2] - first_row), count,
                    [&](int k, int i) { to[k * slice + i] = made[i * memory_stride + k]; });
}

/// Points also of the margin from those of the lattice alone: of `points`, or where that is null of histo-images, or
/// ones.
__global__ void __launch_bounds__(most_threads, least_blocks)
    convolve_outwards(StageViews views, StageLattice at, std::int64_t slot_size, const float* points,
                      const float* histo, std::int64_t histo_points, float* to) {
  extern __shared__ float shared[];
  chain::wait_for_those_before();
  const Share share;
  const int j = static_cast<int>(blockIdx.x), slot = static_cast<int>(blockIdx.y);
  const DeviceStages& stages = views[slot];
  const DirectLattice& lattice = stages.between;
  const int count = lattice.size[0], begin = at.margin + stages.reach;
  if (j >= lattice.size[1]) return;
  const int first_row = static_cast<int>(blockIdx.z) * rows_a_block;
  const int rows = min(rows_a_block, lattice.size[2] - first_row);
  const GivenPoints given(shared, begin, count, begin + spare_points);
  given.clear_around(0, rows == rows_a_block ? count : 0);
  if (rows < rows_a_block) __syncthreads();
  if (points) {
    given.copy(points + slot * slot_size + at.at(j, 0) + first_row, at.rows, 0, count, at.rows - first_row);
  } else {
    const float* const in = histo ? histo + slot * histo_points + lattice.index(0, j, first_row) : nullptr;
    const std::int64_t slice = std::int64_t{count} * lattice.size[1];
    for_each_of_histo(rows, count, [&](int k, int i) { given.at(i)[k] = in ? in[k * slice + i] : 1.0f; });
  }
  __syncthreads();
  const int made = count + 2 * at.margin;
  for (int first = share.first; first < made && share.row < at.rows; first += share.step) {
    float sums[outputs_a_thread];
    convolve(given.at(first - begin) + share.lane, stages, sums);
    float* const out = to + slot * slot_size + at.at(j, first - at.margin) + share.row;
#pragma unroll
    for (int e = 0; e < outputs_a_thread; ++e)
      if (first + e < made) out[e * at.rows] = sums[e];
  }
}

__global__ void to_columns(const float* images, std::int64_t image_size, int columns, int voxels, StageColumns to) {
  __shared__ float values[flip_tile][flip_tile + 1];
  chain::wait_for_those_before();
  const int slot = static_cast<int>(blockIdx.z);
  const int column = static_cast<int>(blockIdx.x) * flip_tile + static_cast<int>(threadIdx.x);
  for (int n = threadIdx.y; n < flip_tile; n += flip_rows) {
    const int z = static_cast<int>(blockIdx.y) * flip_tile + n;
    if (z < voxels && column < columns)
      values[n][threadIdx.x] = images ? images[slot * image_size + std::int64_t{z} * columns + column] : 1.0f;
  }
  __syncthreads();
  const int z = static_cast<int>(blockIdx.y) * flip_tile + static_cast<int>(threadIdx.x);
  for (int n = threadIdx.y; n < flip_tile; n += flip_rows) {
    const int at = static_cast<int>(blockIdx.x) * flip_tile + n;
    if (at < columns && z < voxels)
      to.values[slot * to.slot_size + std::int64_t{at} * to.stride + z] = values[threadIdx.x][n];
  }
}

/// images[slot] (+)= the sum of so many columns from the slot's on.
__global__ void from_columns(StageColumns from, int columns, int voxels, bool adds, int sums, float* images,
                             std::int64_t image_size) {
  __shared__ float values[flip_tile][flip_tile + 1];
  chain::wait_for_those_before();
  const int slot = static_cast<int>(blockIdx.z);
  const int z = static_cast<int>(blockIdx.y) * flip_tile + static_cast<int>(threadIdx.x);
  constexpr int of_thread = flip_tile / flip_rows;
  const int first = static_cast<int>(blockIdx.x) * flip_tile + static_cast<int>(threadIdx.y);
  float sum[of_thread] = {};
  for (int part = 0; part < sums && z < voxels; ++part)
#pragma unroll
    for (int n = 0; n < of_thread; ++n)
      if (first + n * flip_rows < columns) sum[n] += from.at(slot + part, first + n * flip_rows)[z];
#pragma unroll
  for (int n = 0; n < of_thread; ++n) values[threadIdx.y + n * flip_rows][threadIdx.x] = sum[n];
  __syncthreads();
  const int column = static_cast<int>(blockIdx.x) * flip_tile + static_cast<int>(threadIdx.x);
  for (int n = threadIdx.y; n < flip_tile; n += flip_rows) {
    const int at = static_cast<int>(blockIdx.y) * flip_tile + n;
    if (column >= columns || at >= voxels) continue;
    float& to = images[slot * image_size + std::int64_t{at} * columns + column];
    to = adds ? to + values[threadIdx.x][n] : values[threadIdx.x][n];
  }
}

dim3 flip_blocks(const Grid& grid, int slots) {
  return {parts(grid.stride(2), flip_tile), parts(grid.size[2], flip_tile), static_cast<unsigned>(slots)};
}

std::size_t most_shared_bytes() {
  int device = 0, most = 0;
  check_cuda(cudaGetDevice(&device), "ask for the device");
  check_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "ask for shared memory");
  return static_cast<std::size_t>(most);
}

template <class Kernel>
void take_shared(Kernel kernel, std::size_t bytes) {
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
             "take shared memory");
}

std::size_t memory_of_points(int points) {
  return sizeof(float) * static_cast<std::size_t>(points) * memory_stride;
}

/// Whether a block has a thread for each of its shares.
bool is_one_round(int points) {
  return points <= most_threads / rows_a_block * outputs_a_thread;
}

unsigned threads_for(int points) {
  const int segments = (points + outputs_a_thread - 1) / outputs_a_thread;
  return static_cast<unsigned>(std::min(most_threads, segments * rows_a_block));
}

}  // namespace

void queue_to_columns(const float* images, const Grid& grid, int slots, const StageColumns& to, Stream stream) {
  chain::launch("put images into columns", to_columns, flip_blocks(grid, slots), dim3(flip_tile, flip_rows), 0, stream,
                images, grid.voxels(), static_cast<int>(grid.stride(2)), grid.size[2], to);
}

void queue_from_columns(const StageColumns& from, const Grid& grid, int slots, float* images, Stream stream) {
  chain::launch("put columns into images", from_columns, flip_blocks(grid, slots), dim3(flip_tile, flip_rows), 0,
                stream, from, static_cast<int>(grid.stride(2)), grid.size[2], false, 1, images, grid.voxels());
}

void queue_add_columns(const StageColumns& from, const Grid& grid, int slots, float* image, Stream stream) {
  chain::launch("add columns to an image", from_columns, flip_blocks(grid, 1), dim3(flip_tile, flip_rows), 0, stream,
                from, static_cast<int>(grid.stride(2)), grid.size[2], true, slots, image, grid.voxels());
}

Convolution::Convolution(const StageLattice& lattice, int points)
    : lattice_(lattice),
      points_(points),
      inwards_bytes_(
          memory_of_points(points + 2 * lattice.margin + spare_points + (is_one_round(points) ? 0 : points))),
      outwards_bytes_(memory_of_points(points + 4 * lattice.margin + spare_points)) {
  if (outwards_bytes_ > most_shared_bytes())
    throw std::invalid_argument(
        "the image's rows are longer than this GPU's shared memory allows two_stage: take larger voxels, operator "
        "one_stage, or backend: cpu");
  take_shared(convolve_inwards, inwards_bytes_);
  take_shared(convolve_outwards, outwards_bytes_);
}

dim3 Convolution::blocks(const StageViews& views) const {
  return {static_cast<unsigned>(lattice_.lines), static_cast<unsigned>(views.count),
          parts(lattice_.rows, rows_a_block)};
}

void Convolution::queue_inwards(const StageViews& views, const StageLattice& gathered, const float* from, int voxels,
                                float* points, float* histo, std::int64_t histo_points, Stream stream) const {
  chain::launch("convolve views", convolve_inwards, blocks(views), threads_for(points_), inwards_bytes_, stream, views,
                lattice_, gathered, from, voxels, points, histo, histo_points);
}

void Convolution::queue_outwards(const StageViews& views, const float* points, const float* histo,
                                 std::int64_t histo_points, float* to, Stream stream) const {
  chain::launch("convolve views", convolve_outwards, blocks(views), threads_for(points_ + 2 * lattice_.margin),
                outwards_bytes_, stream, views, lattice_, lattice_.floats(), points, histo, histo_points, to);
}

}  // namespace tofstream::two_stage
// SPDX-License-Identifier: Apache-2.0
