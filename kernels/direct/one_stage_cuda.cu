// one_stage in CUDA (Ha et al. 2013): each column of the result is the sum of the columns around it, as on the CPU
// (one_stage_cpu.cpp), so nothing is written twice and all sums are in a fixed order. A thread has some rows of four
// neighbouring columns: what it reads of a column gives to each of the four. The warps of a block share the bundles of
// the same columns, so that one view fills the GPU and few terms are added one after the other. Their tables lie in
// shared memory. Each shift and number of taps has its own code, which all warps run at a time, since the cache of
// instructions holds little more.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include <tbb/parallel_for.h>

#include "kernels/cuda/check.hpp"
#include "kernels/direct/direct_backends.hpp"
#include "kernels/direct/direct_projector.hpp"
#include "kernels/direct/kernel_tables.hpp"
#include "kernels/direct/one_stage_bundles.hpp"

namespace tofstream {

namespace {

constexpr int column_threads = 32, splits = 8;  // of a block: a warp's columns, of which each warp adds up some bundles
constexpr int one_threads = column_threads * splits;
constexpr int columns_a_thread = bundle_columns, rows = 16;
constexpr int quads_a_thread = rows / rows_of_quad;
constexpr int tile_columns = 16;  // along x; four along y

/// How rows lie in memory: a thread's whole fours of rows are far apart, and each lies beside its neighbours', so that
/// threads that read their own next ones read neighbouring memory.
struct RowOrder {
  int shares = 1;  // threads of a column
  int zeros = 0;   // fours behind each part
  TOFSTREAM_HOST_DEVICE int part() const { return shares + zeros; }
  TOFSTREAM_HOST_DEVICE int stride() const { return rows_of_quad * (quads_a_thread * part() + 1); }
  /// In floats.
  TOFSTREAM_HOST_DEVICE int of_quad(int quad) const {
    const int phase = ((quad % quads_a_thread) + quads_a_thread) % quads_a_thread;
    return rows_of_quad * (phase * part() + (quad - phase) / quads_a_thread);
  }
  /// The row at a place of a column, or -1.
  TOFSTREAM_HOST_DEVICE int row_at(int place) const {
    const int four = place / rows_of_quad, phase = four / part(), share = four % part();
    if (phase >= quads_a_thread || share >= shares) return -1;
    return rows_of_quad * (share * quads_a_thread + phase) + place % rows_of_quad;
  }
};

/// The device reads it as two int4.
struct alignas(32) DeviceBundle {
  std::int32_t offsets[quads_a_thread] = {};  // of whole fours, by their number modulo a thread's
  std::int32_t dx = 0, dy = 0;
  std::int32_t mask = 0, weight = 0;
};

/// Bundles of one shift and number of taps, as they stand in a chunk.
struct alignas(16) DeviceSegment {
  std::int32_t code = 0;  // shift + 4 (taps - 1)
  std::int32_t first = 0, count = 0;
  std::int32_t values = 0;  // the first bundle's
};

/// What a block has of its tables at a time: segments, their bundles and values, in words of 16 bytes.
constexpr int most_chunk_words = 2560;
struct Chunk {
  std::int32_t first = 0, words = 0;  // of the view's words
  std::int32_t segments = 0;
};

/// A view's tables. Forward values are those of a kernel seen from its points: at the mirrored ones.
struct DeviceTables {
  const int4* words[2] = {};  // back, forward
  const Chunk* chunks = nullptr;
  const float* weights[2] = {};  // of many profiles: [profile][run]
  const std::int16_t* map = nullptr;
  int chunk_count = 0, weight_count = 0;
  bool is_along_y = false;
};

/// Images whose voxels lie column by column, with a column of zeros at the end of each.
struct OneColumns {
  float* values = nullptr;
  RowOrder order;
  int margin = 0;
  std::int64_t slot_size = 0;
};

struct OneViews {
  const DeviceTables* tables = nullptr;  // of places
  const std::int32_t* index = nullptr;
  int count = 0;
};

constexpr int turn_tile = 32, turn_rows = 8;

/// Images to columns, zeros elsewhere; null stands for ones.
__global__ void __launch_bounds__(turn_tile* turn_rows)
    turn_columns(const float* images, std::int64_t image_size, int columns, int rows, OneColumns to) {
  __shared__ float values[turn_tile][turn_tile + 1];
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

/// The sum of the warps' sums, in the first one's; in a fixed order.
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
__global__ void __launch_bounds__(one_threads, 2)
    sum_bundles(OneViews views, ColumnFours fours, int size_x, int size_y, int size_z, bool is_forward, OneColumns from,
                float* to, std::int64_t to_size) {
  __shared__ int4 chunk_words[most_chunk_words];
  const int thread_of_columns = static_cast<int>(threadIdx.x) % column_threads;
  const int n = static_cast<int>(blockIdx.x) * column_threads + thread_of_columns;
  const int shares = from.order.shares, share = n % shares, slot = static_cast<int>(blockIdx.y);
  const DeviceTables& tables = views.tables[views.index[slot]];
  OneThread thread;
  thread.chunk = chunk_words;
  thread.part = static_cast<int>(threadIdx.x) / column_threads;
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
    for (int w = static_cast<int>(threadIdx.x); w < chunk.words; w += one_threads) chunk_words[w] = words[w];
    __syncthreads();
    for (int s = 0; s < chunk.segments; ++s)
      add_segment_of<kernel, 0>(thread, reinterpret_cast<const DeviceSegment*>(chunk_words)[s], sum);
  }
  add_splits(sum, thread.part, thread_of_columns, reinterpret_cast<float*>(chunk_words));
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
      : DirectProjector(grid, set, settings, Backend::cuda) {
    make_tables();
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
      queue_sums(true, {tables_.data(), views.index + first, count}, expectation + first * points(), stream);
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
      queue_sums(false, {tables_.data(), views.index + first, count}, parts_.data(), stream);
      add_parts<<<one_parts(points(), one_threads), one_threads, 0, stream>>>(parts_.data(), points(), count, image);
      check_launch("project histo-images back");
    }
  }

 private:
  bool has_one_profile() const { return profiles().count() == 1; }

  template <OneKernel kernel>
  void queue_sums(bool is_forward, const OneViews& views, float* to, Stream stream) {
    const ColumnFours fours(grid().size[0], grid().size[1]);
    const dim3 blocks(one_parts(std::int64_t{fours.count()} * columns_.order.shares, column_threads),
                      static_cast<unsigned>(views.count));
    OneColumns from = columns_;
    from.values = turned_.data();
    sum_bundles<kernel><<<blocks, one_threads, 0, stream>>>(views, fours, grid().size[0], grid().size[1],
                                                            grid().size[2], is_forward, from, to, points());
    check_launch("add up bundles of views");
  }
  void queue_sums(bool is_forward, const OneViews& views, float* to, Stream stream) {
    if (has_one_profile()) return queue_sums<OneKernel::one>(is_forward, views, to, stream);
    if (is_forward) return queue_sums<OneKernel::of_source>(true, views, to, stream);
    queue_sums<OneKernel::own>(false, views, to, stream);
  }

  /// Tables of a view on the host.
  struct HostTables {
    ViewBundles view;
    std::vector<float> values[2], weights[2];  // values: fours of a column, as segments have them
    std::vector<std::int16_t> map;
  };

  HostTables tables_of(const ViewFrame& look) const {
    const KernelTables tables(grid(), look, settings().kernel, profiles());
    HostTables made;
    made.view = bundle_runs(tables, look);
    const auto last = static_cast<int>(tables.points()) - 1;
    for (int side = 0; side < 2; ++side) {
      const auto mirrored = [&](int point) { return static_cast<std::size_t>(side == 0 ? point : last - point); };
      for (const ColumnBundle& bundle : made.view.bundles)
        for (int c = 0; c < bundle_columns; ++c)
          for (int t = 0; t < 4 * fours_of_taps(bundle.taps); ++t) {
            const int point = bundle.points[c][t];
            float value = 0;
            if (point >= 0)
              value = has_one_profile() ? tables.values_of(0)[mirrored(point)]
                                        : static_cast<float>(tables.along()[mirrored(point)]);
            made.values[side].push_back(value);
          }
      if (has_one_profile()) continue;
      const std::size_t last_run = tables.runs().size() - 1;
      for (int a = 0; a < profiles().count(); ++a)
        for (const int run : made.view.weights) {
          const auto r = static_cast<std::size_t>(std::max(run, 0));
          made.weights[side].push_back(run < 0 ? 0
                                               : static_cast<float>(tables.radial(a, side == 0 ? r : last_run - r)));
        }
    }
    for (int y = 0; y < grid().size[1]; ++y)
      for (int x = 0; x < grid().size[0]; ++x) made.map.push_back(static_cast<std::int16_t>(tables.profile(x, y)));
    return made;
  }

  /// A view's words of one side, and where its chunks stand in them.
  std::vector<int4> words_of(const HostTables& of, int side, std::vector<Chunk>& chunks) const {
    std::vector<int4> words;
    constexpr std::size_t word = sizeof(int4);
    const auto add = [&](const auto& what) {
      static_assert(sizeof what % word == 0);
      const std::size_t at = words.size();
      words.resize(at + sizeof what / word);
      std::memcpy(words.data() + at, &what, sizeof what);
    };
    const std::vector<std::vector<BundleSegment>> all = chunks_of(of.view.segments);
    for (const std::vector<BundleSegment>& segments : all) {
      Chunk chunk{static_cast<int>(words.size()), 0, static_cast<int>(segments.size())};
      int bundles = 0, at = chunk.segments;
      for (const BundleSegment& segment : segments) bundles += segment.end - segment.first;
      int values = at + bundle_words * bundles;
      for (const BundleSegment& segment : segments) {
        const int count = segment.end - segment.first;
        add(DeviceSegment{segment.shift + rows_of_quad * (segment.taps - 1), at, count, values});
        at += bundle_words * count;
        values += count * value_words(segment);
      }
      for (const BundleSegment& segment : segments)
        for (int b = segment.first; b < segment.end; ++b)
          add(device_bundle(of.view.bundles[static_cast<std::size_t>(b)]));
      for (const BundleSegment& segment : segments)
        for (int w = 0; w < (segment.end - segment.first) * value_words(segment); ++w) {
          float four[4];
          std::copy_n(of.values[side].data() + 4 * (segment.values + w), 4, four);
          add(four);
        }
      chunk.words = static_cast<int>(words.size()) - chunk.first;
      chunks.push_back(chunk);
    }
    return words;
  }
  static constexpr int bundle_words = sizeof(DeviceBundle) / sizeof(int4);
  static int value_words(const BundleSegment& segment) { return bundle_columns * fours_of_taps(segment.taps); }

  /// Segments, of which some are cut in two, chunk by chunk.
  static std::vector<std::vector<BundleSegment>> chunks_of(const std::vector<BundleSegment>& segments) {
    std::vector<std::vector<BundleSegment>> chunks(1);
    int room = most_chunk_words;
    for (BundleSegment left : segments)
      while (left.first < left.end) {
        const int fit = (room - 1) / (bundle_words + value_words(left));
        if (fit < 1) {
          chunks.emplace_back();
          room = most_chunk_words;
          continue;
        }
        BundleSegment taken = left;
        taken.end = std::min(left.end, left.first + fit);
        const int count = taken.end - taken.first;
        room -= 1 + count * (bundle_words + value_words(left));
        left.first = taken.end;
        left.values += count * value_words(left);
        chunks.back().push_back(taken);
      }
    return chunks;
  }

  void make_tables() {
    const std::size_t places = frames().size();
    std::vector<HostTables> all(places);
    tbb::parallel_for(std::size_t{0}, places, [&](std::size_t p) { all[p] = tables_of(frames()[p]); });
    set_columns(all);
    std::vector<int4> words;
    std::vector<Chunk> chunks;
    std::vector<float> weights;
    std::vector<std::int16_t> maps;
    struct Begin {
      std::size_t words[2], weights[2], chunks;
    };
    std::vector<Begin> begins;
    for (const HostTables& here : all) {
      Begin& begin = begins.emplace_back();
      begin.chunks = chunks.size();
      for (int side = 0; side < 2; ++side) {
        begin.words[side] = words.size();
        begin.weights[side] = weights.size();
        std::vector<Chunk> same;  // of both sides
        const std::vector<int4> of_side = words_of(here, side, side == 0 ? chunks : same);
        words.insert(words.end(), of_side.begin(), of_side.end());
        weights.insert(weights.end(), here.weights[side].begin(), here.weights[side].end());
      }
      if (!has_one_profile()) maps.insert(maps.end(), here.map.begin(), here.map.end());
    }
    words_ = Buffer<int4>::from(words).to(Memory::device);
    chunks_ = Buffer<Chunk>::from(chunks).to(Memory::device);
    weights_ = Buffer<float>::from(weights).to(Memory::device);
    maps_ = Buffer<std::int16_t>::from(maps).to(Memory::device);
    std::vector<DeviceTables> tables(places);
    for (std::size_t p = 0; p < places; ++p) {
      DeviceTables& to = tables[p];
      to.chunks = chunks_.data() + begins[p].chunks;
      to.chunk_count = static_cast<int>((p + 1 < places ? begins[p + 1].chunks : chunks.size()) - begins[p].chunks);
      to.weight_count = static_cast<int>(all[p].view.weights.size());
      to.is_along_y = all[p].view.is_along_y;
      for (int side = 0; side < 2; ++side) {
        to.words[side] = words_.data() + begins[p].words[side];
        to.weights[side] = weights_.data() + begins[p].weights[side];
      }
      if (!has_one_profile()) to.map = maps_.data() + static_cast<std::int64_t>(p) * grid().stride(2);
    }
    tables_ = Buffer<DeviceTables>::from(tables).to(Memory::device);
    synchronize(nullptr);  // the host's copies may go
  }

  DeviceBundle device_bundle(const ColumnBundle& bundle) const {
    DeviceBundle made{.dx = bundle.dx, .dy = bundle.dy, .mask = bundle.mask, .weight = bundle.weight};
    for (int k = 0; k < quads_a_thread; ++k) made.offsets[k] = columns_.order.of_quad(bundle.quad + k);
    return made;
  }

  /// How columns lie in memory, by how far bundles reach along z.
  void set_columns(const std::vector<HostTables>& all) {
    int reach = 0;
    for (const HostTables& here : all) reach = std::max(reach, here.view.reach);
    const auto parts = [](int of, int size) { return (of + size - 1) / size; };
    RowOrder& order = columns_.order;
    order.shares = parts(grid().size[2], rows);
    order.zeros = parts(reach + rows_of_quad, rows);
    columns_.margin = rows_of_quad * order.zeros;
    columns_.slot_size = columns_.margin + (grid().stride(2) + 1) * order.stride();
    if (columns_.slot_size > std::numeric_limits<std::int32_t>::max())
      throw std::invalid_argument(
          "an image this large needs larger voxels for one_stage on a GPU, or operator two_stage");
  }

  void queue_columns(const float* images, int slots, Stream stream) {
    const auto columns = static_cast<int>(grid().stride(2));
    OneColumns to = columns_;
    to.values = turned_.data();
    const dim3 blocks(one_parts(columns + 1, turn_tile),
                      one_parts(columns_.order.stride() + columns_.margin, turn_tile), static_cast<unsigned>(slots));
    turn_columns<<<blocks, dim3(turn_tile, turn_rows), 0, stream>>>(images, grid().voxels(), columns, grid().size[2],
                                                                    to);
    check_launch("put images into columns");
  }

  int group_ = 1;
  OneColumns columns_;
  Buffer<int4> words_;
  Buffer<Chunk> chunks_;
  Buffer<float> weights_, turned_, parts_;
  Buffer<std::int16_t> maps_;
  Buffer<DeviceTables> tables_;
};

}  // namespace

std::unique_ptr<ViewProjector> make_one_stage_cuda(const Grid& grid, const ViewSet& set,
                                                   const DirectSettings& settings) {
  return std::make_unique<OneStageCuda>(grid, set, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
