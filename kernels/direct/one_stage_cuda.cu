// one_stage in CUDA (Ha et al. 2013): each column of the result is the sum of the columns around it, as on the CPU
// (one_stage_cpu.cpp), so nothing is written twice and all sums are in a fixed order. Half a warp has a column, or two with
// one kernel, a lane four of their rows. Four copies of all columns, each moved by a row, let a lane read four rows at once
// wherever they begin.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include <tbb/parallel_for.h>

#include "kernels/cuda/check.hpp"
#include "kernels/direct/direct_backends.hpp"
#include "kernels/direct/direct_projector.hpp"
#include "kernels/direct/kernel_tables.hpp"

namespace tofstream {

namespace {

constexpr int one_threads = 128, one_lanes = 16;
constexpr int columns_a_block = one_threads / one_lanes;
constexpr int rows_a_lane = 4, rows_a_half = rows_a_lane * one_lanes;
constexpr int copies = rows_a_lane;
constexpr int columns_of_one_profile = 2;

/// Points of a kernel in one column of voxels, from a row on; their values are filled up with 0 to whole fours.
struct alignas(16) DeviceRun {
  std::int32_t offset = 0;  // of the copies, from a column's own rows
  std::int32_t first = 0;   // of a profile's values
  std::int16_t dx = 0, dy = 0;
  std::int32_t count = 0;
};

/// A view's tables. Forward values are those of a kernel seen from its points: at the mirrored ones.
struct DeviceTables {
  const DeviceRun* runs = nullptr;
  const float* values[2] = {};  // back, forward: [profile][points]
  const std::int16_t* map = nullptr;
  int run_count = 0, points = 0;
  int reach_x = 0, reach_y = 0;  // of the runs
};

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

/// columns[slot][copy][column][margin - copy + z] = images[slot][z][column], zeros elsewhere; null stands for ones.
__global__ void __launch_bounds__(one_threads)
    spread_copies(const float* images, std::int64_t image_size, int columns, int rows, OneColumns to) {
  const std::int64_t n = std::int64_t{blockIdx.x} * one_threads + threadIdx.x;
  const int slot = static_cast<int>(blockIdx.y), copy = static_cast<int>(blockIdx.z);
  if (n >= to.copy_size) return;
  const auto column = static_cast<int>(n / to.stride);
  const int z = static_cast<int>(n % to.stride) + copy - to.margin;
  float value = 0;
  if (z >= 0 && z < rows) value = images ? images[slot * image_size + std::int64_t{z} * columns + column] : 1.0f;
  to.values[slot * to.slot_size + copy * to.copy_size + n] = value;
}

__device__ float4 four_rows(const float* values) {
  return *reinterpret_cast<const float4*>(values);
}

/// Adds a run of `count` values, multiplied into four rows of each of some neighbouring columns.
template <int count, int columns>
__device__ void add_run_of(const float* from, int stride, const float* values, float (&sum)[columns][rows_a_lane]) {
  constexpr int fours_of_rows = (count + rows_a_lane - 1 + 3) / 4, fours_of_values = (count + 3) / 4;
  float value[4 * fours_of_values];
#pragma unroll
  for (int b = 0; b < fours_of_values; ++b) {
    const float4 four = four_rows(values + 4 * b);
    value[4 * b] = four.x, value[4 * b + 1] = four.y, value[4 * b + 2] = four.z, value[4 * b + 3] = four.w;
  }
#pragma unroll
  for (int c = 0; c < columns; ++c) {
    float row[4 * fours_of_rows];
#pragma unroll
    for (int b = 0; b < fours_of_rows; ++b) {
      const float4 four = four_rows(from + c * stride + 4 * b);
      row[4 * b] = four.x, row[4 * b + 1] = four.y, row[4 * b + 2] = four.z, row[4 * b + 3] = four.w;
    }
#pragma unroll
    for (int t = 0; t < count; ++t)
#pragma unroll
      for (int r = 0; r < rows_a_lane; ++r) sum[c][r] += value[t] * row[r + t];
  }
}

/// Adds a part to the sum, and begins another.
template <int columns>
__device__ void move_to(float (&part)[columns][rows_a_lane], float (&sum)[columns][rows_a_lane]) {
#pragma unroll
  for (int c = 0; c < columns; ++c)
#pragma unroll
    for (int r = 0; r < rows_a_lane; ++r) {
      sum[c][r] += part[c][r];
      part[c][r] = 0;
    }
}

constexpr int most_at_once = 8;  // values of a run

template <int columns>
__device__ void add_run(const float* from, int stride, const float* values, int count,
                        float (&sum)[columns][rows_a_lane]) {
  for (; count > most_at_once; count -= most_at_once, from += most_at_once, values += most_at_once)
    add_run_of<most_at_once, columns>(from, stride, values, sum);
  switch (count) {
    case 1:
      return add_run_of<1, columns>(from, stride, values, sum);
    case 2:
      return add_run_of<2, columns>(from, stride, values, sum);
    case 3:
      return add_run_of<3, columns>(from, stride, values, sum);
    case 4:
      return add_run_of<4, columns>(from, stride, values, sum);
    case 5:
      return add_run_of<5, columns>(from, stride, values, sum);
    case 6:
      return add_run_of<6, columns>(from, stride, values, sum);
    case 7:
      return add_run_of<7, columns>(from, stride, values, sum);
    default:
      return add_run_of<8, columns>(from, stride, values, sum);
  }
}

/// to[slot][z][column] = the sum. `columns` of a half of a warp are neighbours along x and have one profile; else each
/// column, or forward each that it reads, has its own.
template <bool is_forward, int columns>
__global__ void __launch_bounds__(one_threads)
    sum_runs(OneViews views, int size_x, int size_y, int rows, OneColumns from, float* to, std::int64_t to_size) {
  constexpr bool has_one_profile = columns > 1;
  const int half = static_cast<int>(threadIdx.x) / one_lanes, lane = static_cast<int>(threadIdx.x) % one_lanes;
  const int groups_x = (size_x + columns - 1) / columns;
  const int group = static_cast<int>(blockIdx.x) * columns_a_block + half;
  const int first_row = static_cast<int>(blockIdx.y) * rows_a_half + rows_a_lane * lane;
  if (group >= groups_x * size_y || first_row >= rows) return;
  const int x = group % groups_x * columns, y = group / groups_x, column = y * size_x + x;
  const int count_x = min(columns, size_x - x);
  const int slot = static_cast<int>(blockIdx.z);
  const DeviceTables& tables = views.tables[views.index[slot]];
  const float* const all = tables.values[is_forward];
  const int points = tables.points, run_count = tables.run_count;
  const DeviceRun* const runs = tables.runs;
  const std::int16_t* const map = tables.map;
  const float* const own = is_forward || has_one_profile ? all : all + std::int64_t{map[column]} * points;
  const float* const data = from.values + (is_forward ? 0 : slot * from.slot_size) + from.margin + first_row +
                            std::int64_t{column} * from.stride;
  const bool is_inside = x >= tables.reach_x && x + columns + tables.reach_x <= size_x && y >= tables.reach_y &&
                         y + tables.reach_y < size_y;
  constexpr int runs_of_part = 32;  // an error of rounding grows with the root of the terms of a sum
  float sum[columns][rows_a_lane] = {}, part[columns][rows_a_lane] = {};
  for (int r = 0; r < run_count; ++r) {
    if (r % runs_of_part == 0) move_to(part, sum);
    const DeviceRun run = runs[r];
    const float* const values = own + run.first;
    if (has_one_profile && is_inside) {
      add_run<columns>(data + run.offset, from.stride, values, run.count, part);
    } else if (has_one_profile) {
      if (y + run.dy < 0 || y + run.dy >= size_y) continue;
      for (int c = 0; c < count_x; ++c) {
        if (x + c + run.dx < 0 || x + c + run.dx >= size_x) continue;
        float one[1][rows_a_lane] = {};
        add_run<1>(data + c * from.stride + run.offset, from.stride, values, run.count, one);
#pragma unroll
        for (int at = 0; at < columns; ++at)
#pragma unroll
          for (int k = 0; k < rows_a_lane; ++k) part[at][k] += at == c ? one[0][k] : 0.0f;
      }
    } else {
      if (!is_inside && (x + run.dx < 0 || x + run.dx >= size_x || y + run.dy < 0 || y + run.dy >= size_y)) continue;
      const float* of_source = values;
      if (is_forward) of_source += std::int64_t{map[column + run.dy * size_x + run.dx]} * points;
      add_run<columns>(data + run.offset, from.stride, of_source, run.count, part);
    }
  }
  move_to(part, sum);
#pragma unroll
  for (int r = 0; r < rows_a_lane; ++r) {
    if (first_row + r >= rows) continue;
    float* const out = to + slot * to_size + std::int64_t{first_row + r} * size_x * size_y + column;
#pragma unroll
    for (int c = 0; c < columns; ++c)
      if (c < count_x) out[c] = sum[c][r];
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
    constexpr int most = 1 << 15;  // a grid of blocks has no more than 65535 along z
    for (int first = 0; first < views.views; first += most) {
      const int count = std::min(most, views.views - first);
      const auto kernel = has_one_profile() ? sum_runs<true, columns_of_one_profile> : sum_runs<true, 1>;
      kernel<<<blocks(count), one_threads, 0, stream>>>({tables_.data(), views.index + first, count}, grid().size[0],
                                                        grid().size[1], grid().size[2], copies_at(),
                                                        expectation + first * points(), points());
      check_launch("project histo-images");
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
      const auto kernel = has_one_profile() ? sum_runs<false, columns_of_one_profile> : sum_runs<false, 1>;
      kernel<<<blocks(count), one_threads, 0, stream>>>({tables_.data(), views.index + first, count}, grid().size[0],
                                                        grid().size[1], grid().size[2], copies_at(), parts_.data(),
                                                        points());
      add_parts<<<one_parts(points(), one_threads), one_threads, 0, stream>>>(parts_.data(), points(), count, image);
      check_launch("project histo-images back");
    }
  }

 private:
  bool has_one_profile() const { return profiles().count() == 1; }
  dim3 blocks(int views) const {
    const int columns = has_one_profile() ? columns_of_one_profile : 1;
    const std::int64_t groups = std::int64_t{one_parts(grid().size[0], columns)} * grid().size[1];
    return {one_parts(groups, columns_a_block), one_parts(grid().size[2], rows_a_half), static_cast<unsigned>(views)};
  }

  /// Tables of a view on the host, as the device has them.
  struct HostTables {
    std::vector<DeviceRun> runs;
    std::vector<float> values[2];
    std::vector<std::int16_t> map;
    int points = 0;
  };

  HostTables tables_of(const ViewFrame& look) const {
    const KernelTables tables(grid(), look, settings().kernel, profiles());
    const auto last = static_cast<int>(tables.points()) - 1;
    HostTables made;
    for (const KernelRun& run : tables.runs()) {
      made.runs.push_back(
          {run.dz, made.points, static_cast<std::int16_t>(run.dx), static_cast<std::int16_t>(run.dy), run.count});
      made.points += (run.count + 3) / 4 * 4;
    }
    const auto profiles_here = static_cast<std::size_t>(profiles().count());
    for (auto& values : made.values) values.assign(profiles_here * static_cast<std::size_t>(made.points), 0.0f);
    for (std::size_t a = 0; a < profiles_here; ++a) {
      const float* const of_profile = tables.values_of(static_cast<int>(a));
      for (std::size_t r = 0; r < tables.runs().size(); ++r) {
        const KernelRun& run = tables.runs()[r];
        const std::size_t to = a * static_cast<std::size_t>(made.points) + static_cast<std::size_t>(made.runs[r].first);
        for (int m = 0; m < run.count; ++m) {
          made.values[0][to + static_cast<std::size_t>(m)] = of_profile[run.first + m];
          made.values[1][to + static_cast<std::size_t>(m)] = of_profile[last - run.first - m];
        }
      }
    }
    for (int y = 0; y < grid().size[1]; ++y)
      for (int x = 0; x < grid().size[0]; ++x) made.map.push_back(static_cast<std::int16_t>(tables.profile(x, y)));
    return made;
  }

  void make_tables() {
    const std::size_t places = frames().size();
    std::vector<HostTables> all(places);
    tbb::parallel_for(std::size_t{0}, places, [&](std::size_t p) { all[p] = tables_of(frames()[p]); });
    std::vector<DeviceRun> runs;
    std::vector<float> values;
    std::vector<std::int16_t> maps;
    std::vector<std::size_t> begins;
    for (const HostTables& here : all) {
      begins.push_back(runs.size());
      begins.push_back(values.size());
      runs.insert(runs.end(), here.runs.begin(), here.runs.end());
      for (const auto& of_side : here.values) values.insert(values.end(), of_side.begin(), of_side.end());
      if (profiles().count() > 1) maps.insert(maps.end(), here.map.begin(), here.map.end());
    }
    set_columns(runs);
    // Which copy a run reads, and where from a column's own rows.
    for (DeviceRun& run : runs) {
      const int dz = run.offset, copy = dz & (copies - 1);
      const std::int64_t offset =
          copy * columns_.copy_size + dz - copy + (run.dx + std::int64_t{run.dy} * grid().size[0]) * columns_.stride;
      run.offset = static_cast<std::int32_t>(offset);
    }
    runs_ = Buffer<DeviceRun>::from(runs).to(Memory::device);
    values_ = Buffer<float>::from(values).to(Memory::device);
    maps_ = Buffer<std::int16_t>::from(maps).to(Memory::device);
    std::vector<DeviceTables> tables(places);
    for (std::size_t p = 0; p < places; ++p) {
      DeviceTables& to = tables[p];
      to.run_count = static_cast<int>(all[p].runs.size());
      to.points = all[p].points;
      for (const DeviceRun& run : all[p].runs) {
        to.reach_x = std::max(to.reach_x, std::abs(int{run.dx}));
        to.reach_y = std::max(to.reach_y, std::abs(int{run.dy}));
      }
      to.runs = runs_.data() + begins[2 * p];
      for (int side = 0; side < 2; ++side) {
        to.values[side] = values_.data() + begins[2 * p + 1] + (side == 0 ? 0 : all[p].values[0].size());
      }
      if (!has_one_profile()) to.map = maps_.data() + static_cast<std::int64_t>(p) * grid().stride(2);
    }
    tables_ = Buffer<DeviceTables>::from(tables).to(Memory::device);
    synchronize(nullptr);  // the host's copies may go
  }

  /// How columns lie in memory, by how far runs reach along z.
  void set_columns(const std::vector<DeviceRun>& runs) {
    int reach = 0;
    for (const DeviceRun& run : runs) reach = std::max({reach, std::abs(run.offset), std::abs(run.offset + run.count)});
    const auto to_four = [](int rows) { return (rows + 3) / 4 * 4; };
    columns_.margin = to_four(reach + rows_a_lane);
    // A lane reads whole fours, and a copy's rows lie before the column's.
    columns_.stride = columns_.margin + to_four(grid().size[2]) + to_four(reach + 3 * rows_a_lane);
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
    const dim3 blocks(one_parts(columns_.copy_size, one_threads), static_cast<unsigned>(slots), copies);
    spread_copies<<<blocks, one_threads, 0, stream>>>(images, grid().voxels(), static_cast<int>(grid().stride(2)),
                                                      grid().size[2], copies_at());
    check_launch("put images into columns");
  }

  int group_ = 1;
  OneColumns columns_;
  Buffer<DeviceRun> runs_;
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
