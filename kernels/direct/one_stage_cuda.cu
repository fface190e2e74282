// one_stage in CUDA (Ha et al. 2013): each column of the result is the sum of the columns around it, as on the CPU
// (one_stage_cpu.cpp), so nothing is written twice and all sums are in a fixed order. A thread has some rows of four
// neighbouring columns: what it reads of a column gives to each of the four. Eight warps share the bundles of
// the same columns, so that one view fills the GPU and few terms are added one after the other. Their tables lie in
// shared memory. Each shift and number of taps has its own code, which all warps run at a time, since the cache of
// instructions holds little more.
#include <algorithm>
#include <cstdint>

#include "kernels/cuda/chain.cuh"
#include "kernels/cuda/kernel_attributes.cuh"
#include "kernels/direct/direct_backends.hpp"
#include "kernels/direct/direct_cuda_backends.hpp"
#include "kernels/direct/direct_projector.hpp"
#include "kernels/direct/one_stage_cuda.cuh"

namespace tofstream {

namespace {

using namespace one_stage;

constexpr int column_threads = 32, splits = 8;  // a warp's columns, of which each of eight warps adds up some bundles
constexpr int split_threads = column_threads * splits, one_threads = 256;
constexpr int tile_columns = 16;  // along x; four along y
constexpr int turn_tile = 32, turn_rows = 8;

/// Images to columns, zeros elsewhere; null stands for ones.
__global__ void __launch_bounds__(turn_tile* turn_rows)
    turn_columns(const float* images, std::int64_t image_size, int columns, int rows, OneColumns to) {
  __shared__ float values[turn_tile][turn_tile + 1];
  chain::wait_for_those_before();
  const int slot = static_cast<int>(blockIdx.z), first_column = static_cast<int>(blockIdx.x) * turn_tile;
  const int first = static_cast<int>(blockIdx.y) * turn_tile - to.margin, stride = to.order.stride();
  const int column = first_column + static_cast<int>(threadIdx.x);
  for (int n = threadIdx.y; n < turn_tile; n += turn_rows) {
    const int z = first + n < 0 ? -1 : to.order.row_at(first + n);
    float value = 0;
    if (z >= 0 && z < rows && column < columns)
      value = images ? images[slot * image_size + std::int64_t{z} * columns + column] : 1.0f;
    values[n][threadIdx.x] = value;
  }
  __syncthreads();
  const int place = first + static_cast<int>(threadIdx.x);
  if (place >= stride) return;
  for (int n = threadIdx.y; n < turn_tile && first_column + n <= columns; n += turn_rows)
    if (place >= 0 || first_column + n == 0)
      to.values[slot * to.slot_size + to.margin + std::int64_t{first_column + n} * stride + place] =
          values[threadIdx.x][n];
}

/// A place of four columns.
struct FourColumns {
  int x = 0, y = 0;
};

/// Fours of columns, numbered tile by tile, so that those of a block of threads read neighbouring columns.
struct ColumnFours {
  int tiles_x = 0, tiles_y = 0;

  ColumnFours(int size_x, int size_y)
      : tiles_x((size_x + tile_columns - 1) / tile_columns),
        tiles_y((size_y + columns_a_thread - 1) / columns_a_thread) {}
  TOFSTREAM_HOST_DEVICE int count() const { return tiles_x * tiles_y * tile_columns; }
  __device__ FourColumns at(int n, bool is_along_y) const {
    const int tile = n / tile_columns, here = n % tile_columns;
    const int x = tile % tiles_x * tile_columns, y = tile / tiles_x * columns_a_thread;
    constexpr int fours_x = tile_columns / columns_a_thread;
    if (is_along_y) return {x + here, y};
    return {x + here % fours_x * columns_a_thread, y + here / fours_x};
  }
};

enum class OneKernel { one, own, of_source };

/// Neighbouring warps' columns that a block has, each with its eight warps: two read much the same columns and tables
/// through one first-level cache. Own kernels' weights leave too little of that, and are faster in blocks of one.
constexpr int groups_of(OneKernel kernel) {
  return kernel == OneKernel::own ? 1 : 2;
}

/// What a thread reads.
struct OneThread {
  const int4* chunk;  // in shared memory
  const float* data;  // of the image's first column, at the thread's rows
  const float* weights;
  const std::int16_t* map;
  int weight_count;
  int own[columns_a_thread];  // own kernels' first weights
  int x, y, size_x, size_y, stride;
  int part;
};

using Sums = float[columns_a_thread][rows];

template <int fours>
__device__ __forceinline__ void read_rows(const float* from, const int4& offsets, float (&row)[4 * fours]) {
  const int at[quads_a_thread] = {offsets.x, offsets.y, offsets.z, offsets.w};
#pragma unroll
  for (int k = 0; k < fours; ++k) {
    const float4 four =
        *reinterpret_cast<const float4*>(from + at[k % quads_a_thread] + rows_of_quad * (k / quads_a_thread));
    row[4 * k] = four.x, row[4 * k + 1] = four.y, row[4 * k + 2] = four.z, row[4 * k + 3] = four.w;
  }
}

template <OneKernel kernel, int shift, int taps>
__device__ __forceinline__ void add_segment(const OneThread& thread, const DeviceSegment& segment, Sums& sum) {
  constexpr int fours = (rows + shift + taps - 1 + 3) / 4, of_taps = fours_of_taps(taps);
  // The first one's number in the view decides which warp begins.
#pragma unroll 1
  for (int b = (thread.part - segment.first / 2) & (splits - 1); b < segment.count; b += splits) {
    const int4* const bundle = thread.chunk + segment.first + 2 * b;
    const int4 offsets = bundle[0], where = bundle[1];
    const int x = thread.x + where.x, y = thread.y + where.y;
    const bool is_inside = static_cast<unsigned>(x) < static_cast<unsigned>(thread.size_x) &&
                           static_cast<unsigned>(y) < static_cast<unsigned>(thread.size_y);
    if (!__any_sync(0xffffffff, is_inside)) continue;
    const int column = is_inside ? y * thread.size_x + x : thread.size_x * thread.size_y;
    float row[4 * fours];
    read_rows<fours>(thread.data + column * thread.stride, offsets, row);
    float weight[columns_a_thread];
    if (kernel != OneKernel::one) {
      const float* weights = thread.weights + where.w;
      if (kernel == OneKernel::of_source) weights += thread.map[is_inside ? column : 0] * thread.weight_count;
#pragma unroll
      for (int c = 0; c < columns_a_thread; ++c)
        weight[c] = weights[(kernel == OneKernel::own ? thread.own[c] : 0) - c];
    }
    const int4* const of_bundle = thread.chunk + segment.values + b * (columns_a_thread * of_taps);
#pragma unroll
    for (int c = 0; c < columns_a_thread; ++c) {
      if (!(where.z & (1 << c))) continue;
      float value[4 * of_taps];
#pragma unroll
      for (int k = 0; k < of_taps; ++k) {
        const int4 four = of_bundle[c * of_taps + k];
        value[4 * k] = __int_as_float(four.x), value[4 * k + 1] = __int_as_float(four.y);
        value[4 * k + 2] = __int_as_float(four.z), value[4 * k + 3] = __int_as_float(four.w);
      }
      if (kernel != OneKernel::one)
#pragma unroll
        for (int t = 0; t < taps; ++t) value[t] *= weight[c];
#pragma unroll
      for (int t = 0; t < taps; ++t)
#pragma unroll
        for (int r = 0; r < rows; ++r) sum[c][r] += value[t] * row[shift + t + r];
    }
  }
}

template <OneKernel kernel, int code>
__device__ __forceinline__ void add_segment_of(const OneThread& thread, const DeviceSegment& segment, Sums& sum) {
  constexpr int shift = code % rows_of_quad, taps = code / rows_of_quad + 1;
  if constexpr (shift + taps <= most_bundle_rows) {
    if (segment.code == code) return add_segment<kernel, shift, taps>(thread, segment, sum);
  }
  if constexpr (code + 1 < rows_of_quad * most_bundle_taps) add_segment_of<kernel, code + 1>(thread, segment, sum);
}

/// The sum of eight warps' sums, in the first one's; in a fixed order. By all of a block; other warps have no part.
__device__ __forceinline__ void add_splits(Sums& sum, int part, int thread, float* buffer) {
  auto* const other = reinterpret_cast<float(*)[columns_a_thread * rows][column_threads]>(buffer);
#pragma unroll 1
  for (int half = splits / 2; half > 0; half /= 2) {
    __syncthreads();
    if (part >= half && part < 2 * half)
#pragma unroll
      for (int c = 0; c < columns_a_thread; ++c)
#pragma unroll
        for (int r = 0; r < rows; ++r) other[part - half][c * rows + r][thread] = sum[c][r];
    __syncthreads();
    if (part < half)
#pragma unroll
      for (int c = 0; c < columns_a_thread; ++c)
#pragma unroll
        for (int r = 0; r < rows; ++r) sum[c][r] += other[part][c * rows + r][thread];
  }
}
static_assert(splits / 2 * columns_a_thread * rows * column_threads * sizeof(float) <= most_chunk_words * sizeof(int4));

/// to[slot][z][column] = the sum. Columns have one kernel; else each has its own, or forward each that is read.
template <OneKernel kernel>
__global__ void __launch_bounds__(groups_of(kernel) * split_threads, 2 / groups_of(kernel))
    sum_bundles(OneViews views, ColumnFours fours, int size_x, int size_y, int size_z, bool is_forward, OneColumns from,
                float* to, std::int64_t to_size) {
  constexpr int groups = groups_of(kernel);
  __shared__ int4 chunk_words[most_chunk_words];
  const int thread_of_columns = static_cast<int>(threadIdx.x) % column_threads;
  const int group = static_cast<int>(threadIdx.x) / split_threads;
  const int n = (static_cast<int>(blockIdx.x) * groups + group) * column_threads + thread_of_columns;
  const int shares = from.order.shares, share = n % shares, slot = static_cast<int>(blockIdx.y);
  const DeviceTables& tables = views.tables[views.index[slot]];
  OneThread thread;
  thread.chunk = chunk_words;
  thread.part = static_cast<int>(threadIdx.x) / column_threads % splits;
  const FourColumns at = fours.at(n / shares, tables.is_along_y);
  const bool is_column = n / shares < fours.count() && at.x < size_x && at.y < size_y;
  // One outside reads only zeros.
  thread.x = is_column ? at.x : -(1 << 20);
  thread.y = at.y;
  thread.size_x = size_x, thread.size_y = size_y, thread.stride = from.order.stride();
  thread.data = from.values + (is_forward ? 0 : slot * from.slot_size) + from.margin + rows_of_quad * share;
  thread.weights = tables.weights[is_forward];
  thread.map = tables.map;
  thread.weight_count = tables.weight_count;
  const int along_x = tables.is_along_y ? 0 : 1, along_y = 1 - along_x;
  if (kernel == OneKernel::own)
#pragma unroll
    for (int c = 0; c < columns_a_thread; ++c) {
      const int x = min(at.x + c * along_x, size_x - 1), y = min(at.y + c * along_y, size_y - 1);
      thread.own[c] = is_column ? tables.map[y * size_x + x] * tables.weight_count : 0;
    }
  Sums sum = {};
  for (int k = 0; k < tables.chunk_count; ++k) {
    const Chunk chunk = tables.chunks[k];
    const int4* const words = tables.words[is_forward] + chunk.first;
    if (k > 0) __syncthreads();
#pragma unroll 4
    for (int w = static_cast<int>(threadIdx.x); w < chunk.words; w += groups * split_threads) chunk_words[w] = words[w];
    if (k == 0) chain::wait_for_those_before();  // tables were there before
    __syncthreads();
    for (int s = 0; s < chunk.segments; ++s)
      add_segment_of<kernel, 0>(thread, reinterpret_cast<const DeviceSegment*>(chunk_words)[s], sum);
  }
  // Tables' room holds one group's sums at a time.
#pragma unroll 1
  for (int g = 0; g < groups; ++g)
    add_splits(sum, g == group ? thread.part : splits, thread_of_columns, reinterpret_cast<float*>(chunk_words));
  if (thread.part != 0 || !is_column) return;
  float* const out = to + slot * to_size + at.y * size_x + at.x;
  const bool is_whole = !tables.is_along_y && size_x % columns_a_thread == 0;
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    if (share * rows + r >= size_z) break;
    float* const here = out + std::int64_t{share * rows + r} * size_x * size_y;
    if (is_whole) {
      *reinterpret_cast<float4*>(here) = {sum[0][r], sum[1][r], sum[2][r], sum[3][r]};
      continue;
    }
#pragma unroll
    for (int c = 0; c < columns_a_thread; ++c)
      if (at.x + c * along_x < size_x && at.y + c * along_y < size_y)
        here[c * (along_x + along_y * size_x)] = sum[c][r];
  }
}

/// image += the parts of some views, in their order.
__global__ void __launch_bounds__(one_threads)
    add_parts(const float* parts, std::int64_t size, int count, float* image) {
  chain::wait_for_those_before();
  const std::int64_t n = std::int64_t{blockIdx.x} * one_threads + threadIdx.x;
  if (n >= size) return;
  float sum = 0;
#pragma unroll 4
  for (int slot = 0; slot < count; ++slot) sum += parts[slot * size + n];
  image[n] += sum;
}

unsigned one_parts(std::int64_t size, std::int64_t part) {
  return static_cast<unsigned>((size + part - 1) / part);
}

class OneStageCuda final : public DirectProjector {
 public:
  OneStageCuda(const Grid& grid, const ViewSet& set, const DirectSettings& settings)
      : DirectProjector(grid, set, settings, Backend::cuda),
        tables_(grid, frames(), settings.kernel, profiles()),
        columns_(tables_.columns()) {
    group_ = static_cast<int>(std::clamp<std::int64_t>(
        static_cast<std::int64_t>(most_bytes_of_direct_stages / sizeof(float)) / columns_.slot_size, 1,
        std::int64_t{1} << 12));
    synchronize(nullptr);  // what is here may next be used on any stream
  }

  void forward(const Views& views, const float* image, float* expectation, Stream stream) override {
    require_views(views);
    if (views.views == 0) return;
    make_room(turned_, Memory::device, columns_.slot_size, stream);
    queue_columns(image, 1, stream);
    constexpr int most = 1 << 15;  // a grid of blocks has no more than 65535 along y
    for (int first = 0; first < views.views; first += most) {
      const int count = std::min(most, views.views - first);
      queue_sums(true, tables_.views(views.index + first, count), expectation + first * points(), stream);
    }
  }

  void back(const Views& views, const float* values, float* image, Stream stream) override {
    require_views(views);
    const int group = std::min(group_, std::max(views.views, 1));
    make_room(turned_, Memory::device, columns_.slot_size * group, stream);
    make_room(parts_, Memory::device, points() * group, stream);
    for (int first = 0; first < views.views; first += group) {
      const int count = std::min(group, views.views - first);
      queue_columns(values ? values + first * points() : nullptr, count, stream);
      queue_sums(false, tables_.views(views.index + first, count), parts_.data(), stream);
      chain::launch("project histo-images back", add_parts, one_parts(points(), one_threads), one_threads, 0, stream,
                    parts_.data(), points(), count, image);
    }
  }

 private:
  bool has_one_profile() const { return profiles().count() == 1; }

  template <OneKernel kernel>
  void queue_sums(bool is_forward, const OneViews& views, float* to, Stream stream) {
    const ColumnFours fours(grid().size[0], grid().size[1]);
    constexpr int groups = groups_of(kernel);
    const dim3 blocks(one_parts(std::int64_t{fours.count()} * columns_.order.shares, groups * column_threads),
                      static_cast<unsigned>(views.count));
    OneColumns from = columns_;
    from.values = turned_.data();
    chain::launch("add up bundles of views", sum_bundles<kernel>, blocks, groups * split_threads, 0, stream, views,
                  fours, grid().size[0], grid().size[1], grid().size[2], is_forward, from, to, points());
  }
  void queue_sums(bool is_forward, const OneViews& views, float* to, Stream stream) {
    if (has_one_profile()) return queue_sums<OneKernel::one>(is_forward, views, to, stream);
    if (is_forward) return queue_sums<OneKernel::of_source>(true, views, to, stream);
    queue_sums<OneKernel::own>(false, views, to, stream);
  }

  void queue_columns(const float* images, int slots, Stream stream) {
    const auto columns = static_cast<int>(grid().stride(2));
    OneColumns to = columns_;
    to.values = turned_.data();
    const dim3 blocks(one_parts(columns + 1, turn_tile),
                      one_parts(columns_.order.stride() + columns_.margin, turn_tile), static_cast<unsigned>(slots));
    chain::launch("put images into columns", turn_columns, blocks, dim3(turn_tile, turn_rows), 0, stream, images,
                  grid().voxels(), columns, grid().size[2], to);
  }

  Tables tables_;
  OneColumns columns_;
  int group_ = 1;
  Buffer<float> turned_, parts_;
};

template <OneKernel kernel>
KernelAttributes sum_attributes() {
  return attributes_of(sum_bundles<kernel>, groups_of(kernel) * split_threads);
}

}  // namespace

std::unique_ptr<ViewProjector> make_one_stage_cuda(const Grid& grid, const ViewSet& set,
                                                   const DirectSettings& settings) {
  return std::make_unique<OneStageCuda>(grid, set, settings);
}

KernelAttributes automatic_one_stage_attributes(bool is_forward) {
  return is_forward ? sum_attributes<OneKernel::of_source>() : sum_attributes<OneKernel::own>();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
