// one_stage in CUDA (Ha et al. 2013): each column of the result is the sum of the columns around it, as on the CPU
// (one_stage_cpu.cpp), so nothing is written twice and all sums are in a fixed order. A thread has eight rows of four
// neighbouring columns: a column that it reads gives to each of the four by a run of its own, which is why runs that
// begin at one row are bundled. Four copies of all columns, each moved by a row, let a thread read four rows at once
// wherever runs begin.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <vector>

#include <tbb/parallel_for.h>

#include "kernels/cuda/check.hpp"
#include "kernels/direct/direct_backends.hpp"
#include "kernels/direct/direct_projector.hpp"
#include "kernels/direct/kernel_tables.hpp"

namespace tofstream {

namespace {

constexpr int one_threads = 256;
constexpr int rows_a_quad = 4, quads_a_thread = 2, columns_a_thread = 4;
constexpr int copies = rows_a_quad;
constexpr int most_taps = 8;           // of a bundle
constexpr int tile_x = 4, tile_y = 4;  // threads' columns that a block of threads has, in fours along x

/// Runs of neighbouring columns that read one column, from one row on. The device reads it as two int4.
struct alignas(32) Bundle {
  std::int32_t offset = 0;      // of the copies, from the first column's own rows
  std::int32_t dx = 0, dy = 0;  // of the column that is read, from the first
  std::int32_t taps = 0;
  std::int32_t first[columns_a_thread] = {-1, -1, -1, -1};  // of a profile's values, for each column; -1: none
};

/// A view's tables. Forward values are those of a kernel seen from its points: at the mirrored ones.
struct DeviceTables {
  const Bundle* bundles = nullptr;
  const float* values[2] = {};  // back, forward: [profile][values]
  const std::int16_t* map = nullptr;
  int bundle_count = 0, profile_values = 0;
};

/// Threads that a column's rows are shared among.
TOFSTREAM_HOST_DEVICE unsigned shares_of(int rows) {
  constexpr int rows_a_thread = rows_a_quad * quads_a_thread;
  return static_cast<unsigned>((rows + rows_a_thread - 1) / rows_a_thread);
}

/// Columns of voxels with zeros at both ends, four times.
struct OneColumns {
  float* values = nullptr;
  int stride = 0, margin = 0;  // of a column, in floats; zeros before its rows
  std::int64_t copy_size = 0, slot_size = 0;
};

struct OneViews {
  const DeviceTables* tables = nullptr;  // of places
  const std::int32_t* index = nullptr;
  int count = 0;
};

constexpr int turn_tile = 32, turn_rows = 8;

/// columns[slot][copy][column][margin - copy + z] = images[slot][z][column], zeros elsewhere; null stands for ones.
__global__ void __launch_bounds__(turn_tile* turn_rows)
    spread_copies(const float* images, std::int64_t image_size, int columns, int rows, OneColumns to) {
  __shared__ float values[turn_tile + copies - 1][turn_tile + 1];
  const int slot = static_cast<int>(blockIdx.z), first_column = static_cast<int>(blockIdx.x) * turn_tile;
  // All copies of the places [first, first + turn_tile) of a column: of rows from first - margin on.
  const int first = static_cast<int>(blockIdx.y) * turn_tile;
  const int column = first_column + static_cast<int>(threadIdx.x);
  for (int n = threadIdx.y; n < turn_tile + copies - 1; n += turn_rows) {
    const int z = first - to.margin + n;
    float value = 0;
    if (z >= 0 && z < rows && column < columns)
      value = images ? images[slot * image_size + std::int64_t{z} * columns + column] : 1.0f;
    values[n][threadIdx.x] = value;
  }
  __syncthreads();
  const int place = first + static_cast<int>(threadIdx.x);
  if (place >= to.stride) return;
  for (int n = threadIdx.y; n < turn_tile && first_column + n < columns; n += turn_rows) {
    float* const out = to.values + slot * to.slot_size + std::int64_t{first_column + n} * to.stride + place;
#pragma unroll
    for (int copy = 0; copy < copies; ++copy) out[copy * to.copy_size] = values[threadIdx.x + copy][n];
  }
}

__device__ float4 four_rows(const float* values) {
  return *reinterpret_cast<const float4*>(values);
}

using Rows = float[quads_a_thread][columns_a_thread][rows_a_quad];

/// Adds the part to the sum, and begins another.
__device__ void move_to(Rows& part, Rows& sum) {
#pragma unroll
  for (int q = 0; q < quads_a_thread; ++q)
#pragma unroll
    for (int c = 0; c < columns_a_thread; ++c)
#pragma unroll
      for (int r = 0; r < rows_a_quad; ++r) {
        sum[q][c][r] += part[q][c][r];
        part[q][c][r] = 0;
      }
}

/// Adds a bundle of runs. `second`: from the first four rows to the thread's others; `values`: of each column's
/// profile.
template <int taps>
__device__ void add_bundle(const float* from, int second, const Bundle& bundle,
                           const float* const (&values)[columns_a_thread], Rows& sum) {
  constexpr int fours_of_rows = (taps + rows_a_quad - 1 + 3) / 4, fours_of_values = (taps + 3) / 4;
  float row[quads_a_thread][4 * fours_of_rows];
#pragma unroll
  for (int q = 0; q < quads_a_thread; ++q)
#pragma unroll
    for (int b = 0; b < fours_of_rows; ++b) {
      const float4 four = four_rows(from + q * second + 4 * b);
      float* const of = row[q] + 4 * b;
      of[0] = four.x, of[1] = four.y, of[2] = four.z, of[3] = four.w;
    }
#pragma unroll
  for (int c = 0; c < columns_a_thread; ++c) {
    if (bundle.first[c] < 0) continue;
    float value[4 * fours_of_values];
#pragma unroll
    for (int b = 0; b < fours_of_values; ++b) {
      const float4 four = four_rows(values[c] + bundle.first[c] + 4 * b);
      value[4 * b] = four.x, value[4 * b + 1] = four.y, value[4 * b + 2] = four.z, value[4 * b + 3] = four.w;
    }
#pragma unroll
    for (int t = 0; t < taps; ++t)
#pragma unroll
      for (int q = 0; q < quads_a_thread; ++q)
#pragma unroll
        for (int r = 0; r < rows_a_quad; ++r) sum[q][c][r] += value[t] * row[q][r + t];
  }
}

__device__ void add_bundle(const float* from, int second, const Bundle& bundle,
                           const float* const (&values)[columns_a_thread], Rows& sum) {
  switch (bundle.taps) {
    case 1:
      return add_bundle<1>(from, second, bundle, values, sum);
    case 2:
      return add_bundle<2>(from, second, bundle, values, sum);
    case 3:
      return add_bundle<3>(from, second, bundle, values, sum);
    case 4:
      return add_bundle<4>(from, second, bundle, values, sum);
    case 5:
      return add_bundle<5>(from, second, bundle, values, sum);
    case 6:
      return add_bundle<6>(from, second, bundle, values, sum);
    case 7:
      return add_bundle<7>(from, second, bundle, values, sum);
    default:
      return add_bundle<most_taps>(from, second, bundle, values, sum);
  }
}

/// Fours of columns, numbered tile by tile, so that those of a block of threads read neighbouring columns.
struct ColumnFours {
  int tiles_x = 0, tiles_y = 0;

  ColumnFours(int size_x, int size_y)
      : tiles_x((size_x + columns_a_thread * tile_x - 1) / (columns_a_thread * tile_x)),
        tiles_y((size_y + tile_y - 1) / tile_y) {}
  TOFSTREAM_HOST_DEVICE int count() const { return tiles_x * tiles_y * tile_x * tile_y; }
  __device__ int x(int n) const { return columns_a_thread * (n / (tile_x * tile_y) % tiles_x * tile_x + n % tile_x); }
  __device__ int y(int n) const { return n / (tile_x * tile_y) / tiles_x * tile_y + n % (tile_x * tile_y) / tile_x; }
};

/// to[slot][z][column] = the sum. Columns have one profile; else each has its own, or forward each that is read.
template <bool is_forward, bool has_one_profile>
__global__ void __launch_bounds__(one_threads, 2)
    sum_bundles(OneViews views, ColumnFours fours, int size_x, int size_y, int rows, OneColumns from, float* to,
                std::int64_t to_size) {
  const unsigned n = blockIdx.x * one_threads + threadIdx.x;
  // A thread's second quad lies half of all quads behind its first, so that neighbours read neighbouring ones.
  const unsigned shares = shares_of(rows);
  const auto four = static_cast<int>(n / shares), first_row = static_cast<int>(n % shares) * rows_a_quad;
  if (four >= fours.count()) return;
  const int x = fours.x(four), y = fours.y(four);
  if (x >= size_x || y >= size_y) return;
  const int second = static_cast<int>(shares) * rows_a_quad;
  const bool has_second = first_row + second < rows;
  const int column = y * size_x + x, slot = static_cast<int>(blockIdx.y);
  const DeviceTables& tables = views.tables[views.index[slot]];
  const std::int16_t* const map = tables.map;
  const float* const all = tables.values[is_forward];
  const float* values[columns_a_thread];
#pragma unroll
  for (int c = 0; c < columns_a_thread; ++c) {
    values[c] = all;
    if (!is_forward && !has_one_profile)
      values[c] += std::int64_t{map[column + min(c, size_x - 1 - x)]} * tables.profile_values;
  }
  const float* const data = from.values + (is_forward ? 0 : slot * from.slot_size) + from.margin + first_row +
                            std::int64_t{column} * from.stride;
  constexpr int bundles_of_part = 32;  // an error of rounding grows with the root of the terms of a sum
  Rows sum = {}, part = {};
  const int count = tables.bundle_count;
  const Bundle* const bundles = tables.bundles;
  const auto* const words = reinterpret_cast<const int4*>(bundles);  // two a bundle
  int4 where = words[0], first = words[1];
  for (int b = 0; b < count; ++b) {
    const Bundle bundle = {where.x, where.y, where.z, where.w, {first.x, first.y, first.z, first.w}};
    const int4* const next = words + 2 * min(b + 1, count - 1);
    where = next[0];
    first = next[1];
    if (b % bundles_of_part == 0) move_to(part, sum);
    if (static_cast<unsigned>(x + bundle.dx) >= static_cast<unsigned>(size_x) ||
        static_cast<unsigned>(y + bundle.dy) >= static_cast<unsigned>(size_y))
      continue;
    if (is_forward && !has_one_profile) {
      const float* const of_source =
          all + std::int64_t{map[column + bundle.dy * size_x + bundle.dx]} * tables.profile_values;
#pragma unroll
      for (int c = 0; c < columns_a_thread; ++c) values[c] = of_source;
    }
    add_bundle(data + bundle.offset, has_second ? second : 0, bundle, values, part);
  }
  move_to(part, sum);
  float* const out = to + slot * to_size + std::int64_t{first_row} * size_x * size_y + column;
#pragma unroll
  for (int q = 0; q < quads_a_thread; ++q)
#pragma unroll
    for (int r = 0; r < rows_a_quad; ++r) {
      if (first_row + q * second + r >= rows) break;
      float* const here = out + std::int64_t{q * second + r} * size_x * size_y;
      if (size_x % columns_a_thread == 0) {
        *reinterpret_cast<float4*>(here) = {sum[q][0][r], sum[q][1][r], sum[q][2][r], sum[q][3][r]};
        continue;
      }
#pragma unroll
      for (int c = 0; c < columns_a_thread; ++c)
        if (x + c < size_x) here[c] = sum[q][c][r];
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
    make_room(copies_, Memory::device, columns_.slot_size, stream);
    queue_copies(image, 1, stream);
    constexpr int most = 1 << 15;  // a grid of blocks has no more than 65535 along y
    for (int first = 0; first < views.views; first += most) {
      const int count = std::min(most, views.views - first);
      queue_sums<true>({tables_.data(), views.index + first, count}, expectation + first * points(), stream);
    }
  }

  void back(const Views& views, const float* values, float* image, Stream stream) override {
    require_views(views);
    const int group = std::min(group_, std::max(views.views, 1));
    make_room(copies_, Memory::device, columns_.slot_size * group, stream);
    make_room(parts_, Memory::device, points() * group, stream);
    for (int first = 0; first < views.views; first += group) {
      const int count = std::min(group, views.views - first);
      queue_copies(values ? values + first * points() : nullptr, count, stream);
      queue_sums<false>({tables_.data(), views.index + first, count}, parts_.data(), stream);
      add_parts<<<one_parts(points(), one_threads), one_threads, 0, stream>>>(parts_.data(), points(), count, image);
      check_launch("project histo-images back");
    }
  }

 private:
  bool has_one_profile() const { return profiles().count() == 1; }
  template <bool is_forward>
  void queue_sums(const OneViews& views, float* to, Stream stream) {
    const ColumnFours fours(grid().size[0], grid().size[1]);
    const dim3 blocks(one_parts(std::int64_t{fours.count()} * shares_of(grid().size[2]), one_threads),
                      static_cast<unsigned>(views.count));
    const auto kernel = has_one_profile() ? sum_bundles<is_forward, true> : sum_bundles<is_forward, false>;
    kernel<<<blocks, one_threads, 0, stream>>>(views, fours, grid().size[0], grid().size[1], grid().size[2],
                                               copies_at(), to, points());
    check_launch("add up bundles of views");
  }

  /// A part of a kernel's run, filled up with zeros before and behind.
  struct Piece {
    int dx = 0, dy = 0, dz = 0, taps = 0;
    int first = 0;  // of a profile's values
  };
  /// Tables of a view on the host.
  struct HostTables {
    std::vector<Piece> pieces;
    std::vector<Bundle> bundles;  // their offsets are rows
    std::vector<float> values[2];
    std::vector<std::int16_t> map;
    int profile_values = 0;
  };

  HostTables tables_of(const ViewFrame& look) const {
    const KernelTables tables(grid(), look, settings().kernel, profiles());
    HostTables made;
    // Neighbouring runs begin at most rows apart; from every second row on, most of them can be read together.
    int least = 0, longest = 0;
    for (const KernelRun& run : tables.runs()) least = std::min(least, run.dz);
    const auto skipped = [&](const KernelRun& run) { return (run.dz - least) % 2; };
    for (const KernelRun& run : tables.runs()) longest = std::max(longest, skipped(run) + run.count);
    const int piece_values = longest <= 4 ? 4 : most_taps;
    const auto last = static_cast<int>(tables.points()) - 1;
    const auto profiles_here = static_cast<std::size_t>(profiles().count());
    for (const KernelRun& run : tables.runs())
      for (int from = -skipped(run); from < run.count; from += piece_values) {
        made.pieces.push_back(
            {run.dx, run.dy, run.dz + from, std::min(piece_values, run.count - from), made.profile_values});
        made.profile_values += piece_values;
      }
    for (auto& values : made.values) values.assign(profiles_here * static_cast<std::size_t>(made.profile_values), 0.0f);
    for (std::size_t a = 0; a < profiles_here; ++a) {
      const float* const of_profile = tables.values_of(static_cast<int>(a));
      std::size_t to = a * static_cast<std::size_t>(made.profile_values);
      for (const KernelRun& run : tables.runs())
        for (int from = -skipped(run); from < run.count;
             from += piece_values, to += static_cast<std::size_t>(piece_values))
          for (int m = std::max(0, from); m < std::min(run.count, from + piece_values); ++m) {
            made.values[0][to + static_cast<std::size_t>(m - from)] = of_profile[run.first + m];
            made.values[1][to + static_cast<std::size_t>(m - from)] = of_profile[last - run.first - m];
          }
    }
    for (int y = 0; y < grid().size[1]; ++y)
      for (int x = 0; x < grid().size[0]; ++x) made.map.push_back(static_cast<std::int16_t>(tables.profile(x, y)));
    bundle(made);
    return made;
  }

  /// Pieces of neighbouring columns that read the same rows of one column.
  static void bundle(HostTables& tables) {
    std::map<std::array<int, 3>, Bundle> bundles;  // by dy, dx, dz
    for (const Piece& piece : tables.pieces)
      for (int c = 0; c < columns_a_thread; ++c) {
        Bundle& of = bundles[{piece.dy, piece.dx + c, piece.dz}];
        of.dx = piece.dx + c;
        of.dy = piece.dy;
        of.offset = piece.dz;
        of.taps = std::max(of.taps, piece.taps);
        of.first[c] = piece.first;
      }
    for (const auto& [key, made] : bundles) tables.bundles.push_back(made);
  }

  void make_tables() {
    const std::size_t places = frames().size();
    std::vector<HostTables> all(places);
    tbb::parallel_for(std::size_t{0}, places, [&](std::size_t p) { all[p] = tables_of(frames()[p]); });
    std::vector<Bundle> bundles;
    std::vector<float> values;
    std::vector<std::int16_t> maps;
    std::vector<std::size_t> begins;
    for (const HostTables& here : all) {
      begins.push_back(bundles.size());
      begins.push_back(values.size());
      bundles.insert(bundles.end(), here.bundles.begin(), here.bundles.end());
      for (const auto& of_side : here.values) values.insert(values.end(), of_side.begin(), of_side.end());
      if (profiles().count() > 1) maps.insert(maps.end(), here.map.begin(), here.map.end());
    }
    set_columns(bundles);
    // Which copy a bundle reads, and where from a column's own rows.
    for (Bundle& bundle : bundles) {
      const int dz = bundle.offset, copy = dz & (copies - 1);
      const std::int64_t offset = copy * columns_.copy_size + dz - copy +
                                  (bundle.dx + std::int64_t{bundle.dy} * grid().size[0]) * columns_.stride;
      bundle.offset = static_cast<std::int32_t>(offset);
    }
    bundles_ = Buffer<Bundle>::from(bundles).to(Memory::device);
    values_ = Buffer<float>::from(values).to(Memory::device);
    maps_ = Buffer<std::int16_t>::from(maps).to(Memory::device);
    std::vector<DeviceTables> tables(places);
    for (std::size_t p = 0; p < places; ++p) {
      DeviceTables& to = tables[p];
      to.bundle_count = static_cast<int>(all[p].bundles.size());
      to.profile_values = all[p].profile_values;
      to.bundles = bundles_.data() + begins[2 * p];
      for (int side = 0; side < 2; ++side) {
        to.values[side] = values_.data() + begins[2 * p + 1] + (side == 0 ? 0 : all[p].values[0].size());
      }
      if (!has_one_profile()) to.map = maps_.data() + static_cast<std::int64_t>(p) * grid().stride(2);
    }
    tables_ = Buffer<DeviceTables>::from(tables).to(Memory::device);
    synchronize(nullptr);  // the host's copies may go
  }

  /// How columns lie in memory, by how far bundles reach along z.
  void set_columns(const std::vector<Bundle>& bundles) {
    int reach = 0;
    for (const Bundle& bundle : bundles)
      reach = std::max({reach, std::abs(bundle.offset), std::abs(bundle.offset + bundle.taps)});
    const auto to_four = [](int rows) { return (rows + 3) / 4 * 4; };
    columns_.margin = to_four(reach + rows_a_quad);
    // A thread reads whole fours, and a copy's rows lie before the column's.
    columns_.stride = columns_.margin + to_four(grid().size[2]) + to_four(reach + 3 * rows_a_quad);
    columns_.copy_size = grid().stride(2) * columns_.stride;
    columns_.slot_size = copies * columns_.copy_size;
    if (columns_.slot_size > std::numeric_limits<std::int32_t>::max())
      throw std::invalid_argument(
          "an image this large needs larger voxels for one_stage on a GPU, or operator two_stage");
  }

  OneColumns copies_at() {
    OneColumns columns = columns_;
    columns.values = copies_.data();
    return columns;
  }
  void queue_copies(const float* images, int slots, Stream stream) {
    const auto columns = static_cast<int>(grid().stride(2));
    const dim3 blocks(one_parts(columns, turn_tile), one_parts(columns_.stride, turn_tile),
                      static_cast<unsigned>(slots));
    spread_copies<<<blocks, dim3(turn_tile, turn_rows), 0, stream>>>(images, grid().voxels(), columns, grid().size[2],
                                                                     copies_at());
    check_launch("put images into columns");
  }

  int group_ = 1;
  OneColumns columns_;
  Buffer<Bundle> bundles_;
  Buffer<float> values_, copies_, parts_;
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
