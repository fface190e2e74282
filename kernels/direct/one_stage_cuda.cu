// one_stage in CUDA (Ha et al. 2013): each column of the result is the sum of the columns around it, as on the CPU
// (one_stage_cpu.cpp), so nothing is written twice and all sums are in a fixed order. Half a warp has a column, a lane four
// of its rows. Four copies of all columns, each moved by a row, let a lane read four rows at once wherever they begin.
#include <algorithm>
#include <cmath>
#include <cstdint>
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

/// Points of a kernel in one column of voxels, in whole blocks of four from a row on whose values are padded with 0.
struct DeviceRun {
  std::int16_t dx = 0, dy = 0, dz = 0, blocks = 0;
  std::int32_t first = 0;  // of a profile's values
};

/// A view's tables. Forward values are those of a kernel seen from its points: at the mirrored ones.
struct DeviceTables {
  const DeviceRun* runs = nullptr;
  const float* values[2] = {};  // back, forward: [profile][points]
  const std::int16_t* map = nullptr;
  int run_count = 0, points = 0;
  bool has_one_profile = true;
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

/// Adds one run: a block of four values is multiplied into four rows, of seven that it reads.
__device__ void add_run(const float* from, const float* values, int blocks, float (&sum)[rows_a_lane]) {
  float4 here = four_rows(from);
  for (int b = 0; b < blocks; ++b) {
    const float4 weight = four_rows(values + 4 * b), next = four_rows(from + 4 * (b + 1));
    const float row[7] = {here.x, here.y, here.z, here.w, next.x, next.y, next.z};
    const float of[4] = {weight.x, weight.y, weight.z, weight.w};
#pragma unroll
    for (int t = 0; t < 4; ++t)
#pragma unroll
      for (int r = 0; r < rows_a_lane; ++r) sum[r] += of[t] * row[r + t];
    here = next;
  }
}

/// Forward: to[slot][z][column] = the sum; back: adds the sum of all views to columns of its own.
template <bool is_forward>
__global__ void __launch_bounds__(one_threads) sum_runs(OneViews views, int size_x, int size_y, int rows,
                                                        OneColumns from, float* to, std::int64_t to_size, bool adds) {
  const int half = static_cast<int>(threadIdx.x) / one_lanes, lane = static_cast<int>(threadIdx.x) % one_lanes;
  const int column = static_cast<int>(blockIdx.x) * columns_a_block + half;
  const int first_row = static_cast<int>(blockIdx.y) * rows_a_half + rows_a_lane * lane;
  const int columns = size_x * size_y;
  if (column >= columns || first_row >= rows) return;
  const int x = column % size_x, y = column / size_x;
  const int begin = is_forward ? static_cast<int>(blockIdx.z) : 0, end = is_forward ? begin + 1 : views.count;
  float sum[rows_a_lane] = {};
  for (int slot = begin; slot < end; ++slot) {
    const DeviceTables tables = views.tables[views.index[slot]];
    const float* const all = tables.values[is_forward];
    const float* own = all;
    if (!is_forward && !tables.has_one_profile) own += std::int64_t{tables.map[column]} * tables.points;
    const float* const data = from.values + (is_forward ? 0 : slot * from.slot_size) + from.margin + first_row;
    float part[rows_a_lane] = {};  // an error of rounding grows with the root of the terms of a sum
    for (int r = 0; r < tables.run_count; ++r) {
      const DeviceRun run = tables.runs[r];
      const int from_x = x + run.dx, from_y = y + run.dy;
      if (from_x < 0 || from_x >= size_x || from_y < 0 || from_y >= size_y) continue;
      const int source = from_y * size_x + from_x, copy = run.dz & (copies - 1);
      const float* values = own;
      if (is_forward && !tables.has_one_profile) values += std::int64_t{tables.map[source]} * tables.points;
      add_run(data + copy * from.copy_size + std::int64_t{source} * from.stride + (run.dz - copy), values + run.first,
              run.blocks, part);
    }
#pragma unroll
    for (int r = 0; r < rows_a_lane; ++r) sum[r] += part[r];
  }
#pragma unroll
  for (int r = 0; r < rows_a_lane; ++r) {
    if (first_row + r >= rows) continue;
    float& out = to[(is_forward ? begin * to_size : 0) + std::int64_t{first_row + r} * columns + column];
    out = adds ? out + sum[r] : sum[r];
  }
}

unsigned one_parts(std::int64_t size, std::int64_t part) {
  return static_cast<unsigned>((size + part - 1) / part);
}

class OneStageCuda final : public DirectProjector {
 public:
  OneStageCuda(const Grid& grid, const ViewSet& set, const DirectSettings& settings)
      : DirectProjector(grid, set, settings, Backend::cuda) {
    make_tables();
    columns_.margin = (reach_ + rows_a_lane + 3) / 4 * 4;
    // A lane reads up to a block and three copies' rows behind its own, which may lie behind the last one.
    const int lanes_rows = (grid.size[2] + 3) / 4 * 4;
    columns_.stride = columns_.margin + lanes_rows + (reach_ + 2 * rows_a_lane + 3) / 4 * 4;
    columns_.copy_size = grid.stride(2) * columns_.stride;
    columns_.slot_size = copies * columns_.copy_size;
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
      const dim3 blocks(one_parts(grid().stride(2), columns_a_block), one_parts(grid().size[2], rows_a_half),
                        static_cast<unsigned>(count));
      sum_runs<true><<<blocks, one_threads, 0, stream>>>({tables_.data(), views.index + first, count}, grid().size[0],
                                                         grid().size[1], grid().size[2], copies_at(),
                                                         expectation + first * points(), points(), false);
      check_launch("project histo-images");
    }
  }

  void back(const Views& views, const float* values, float* image, Stream stream) override {
    require_views(views);
    const int group = std::min(group_, std::max(views.views, 1));
    make_room(copies_, Memory::device, columns_.slot_size * group, stream);
    for (int first = 0; first < views.views; first += group) {
      const int count = std::min(group, views.views - first);
      queue_copies(values ? values + first * points() : nullptr, count, stream);
      const dim3 blocks(one_parts(grid().stride(2), columns_a_block), one_parts(grid().size[2], rows_a_half));
      sum_runs<false><<<blocks, one_threads, 0, stream>>>({tables_.data(), views.index + first, count}, grid().size[0],
                                                          grid().size[1], grid().size[2], copies_at(), image, 0, true);
      check_launch("project histo-images back");
    }
  }

 private:
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
      const int blocks = (run.count + 3) / 4;
      made.runs.push_back({static_cast<std::int16_t>(run.dx), static_cast<std::int16_t>(run.dy),
                           static_cast<std::int16_t>(run.dz), static_cast<std::int16_t>(blocks), made.points});
      made.points += 4 * blocks;
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
      for (const DeviceRun& run : here.runs)
        reach_ = std::max({reach_, std::abs(int{run.dz}), std::abs(run.dz + 4 * run.blocks)});
    }
    runs_ = Buffer<DeviceRun>::from(runs).to(Memory::device);
    values_ = Buffer<float>::from(values).to(Memory::device);
    maps_ = Buffer<std::int16_t>::from(maps).to(Memory::device);
    std::vector<DeviceTables> tables(places);
    for (std::size_t p = 0; p < places; ++p) {
      DeviceTables& to = tables[p];
      to.run_count = static_cast<int>(all[p].runs.size());
      to.points = all[p].points;
      to.has_one_profile = profiles().count() == 1;
      to.runs = runs_.data() + begins[2 * p];
      for (int side = 0; side < 2; ++side) {
        to.values[side] = values_.data() + begins[2 * p + 1] + (side == 0 ? 0 : all[p].values[0].size());
      }
      if (!to.has_one_profile) to.map = maps_.data() + static_cast<std::int64_t>(p) * grid().stride(2);
    }
    tables_ = Buffer<DeviceTables>::from(tables).to(Memory::device);
    synchronize(nullptr);  // the host's copies may go
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

  int reach_ = 0;  // rows, of whole blocks
  int group_ = 1;
  OneColumns columns_;
  Buffer<DeviceRun> runs_;
  Buffer<float> values_, copies_;
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
