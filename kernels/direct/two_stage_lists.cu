// Lists of what the sums of columns across z read: see two_stage_gather.cuh.
#include <algorithm>
#include <climits>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "kernels/cuda/check.hpp"
#include "kernels/direct/two_stage_gather.cuh"
#include "kernels/direct/two_stage_lines.cuh"

namespace tofstream::two_stage {

namespace {

constexpr int weight_threads = 128, list_threads = 32;

__global__ void __launch_bounds__(weight_threads)
    make_weights(StageViews views, DirectLattice voxels, RadialSteps steps, bool is_out, WeightsAcross across) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), slot = static_cast<int>(blockIdx.y);
  if (column >= across.columns) return;
  const DeviceStages& stages = views[slot];
  const DeviceResampling& resampling = stages.resampling(is_out);
  const Vec3d at = voxels.position(column % voxels.size[0], column / voxels.size[0], 0);
  const int profile = resampling.profiles == 1 ? 0 : steps.index(stages.frame.s(at));
  const std::int64_t table = std::int64_t{slot} * across.columns + column;
  float* const u = across.weights + table * across.stride;
  across.starts[table] = make_across(resampling.law, resampling.radial[profile], stages.between.coordinates(at), u,
                                     u + resampling.law.count_u);
}

/// A view's weights across z.
struct ViewWeights {
  const ResamplingLaw& law;
  const float* weights;
  const ColumnStart* starts;
  int stride;

  __device__ ViewWeights(const ResamplingLaw& law, const WeightsAcross& across, int slot)
      : law(law),
        weights(across.weights + std::int64_t{slot} * across.columns * across.stride),
        starts(across.starts + std::int64_t{slot} * across.columns),
        stride(across.stride) {}
  /// Of a column at a point of the lattice.
  __device__ float at(int column, int i, int j) const {
    const ColumnStart start = starts[column];
    const int u = i - start.u, s = j - start.s;
    if (u < 0 || u >= law.count_u || s < 0 || s >= law.count_s) return 0;
    const float* const own = weights + std::int64_t{column} * stride;
    return own[u] * own[law.count_u + s];
  }
};

__device__ bool is_any(float4 weight) {
  return weight.x != 0 || weight.y != 0 || weight.z != 0 || weight.w != 0;
}

/// take(weights, source) for all columns that give to the four points from (i, j) on.
template <class Take>
__device__ void for_each_column(const DeviceStages& stages, const ViewWeights& weights, const DirectLattice& voxels,
                                int i, int j, const Take& take) {
  constexpr double slack = 2e-3;
  const DirectLattice& points = stages.between;
  const ResamplingLaw& law = weights.law;
  // Columns reach half their weights from where they are; the points lie half a spacing from their middle.
  const double u_mm = (0.5 * law.count_u + 0.5 + slack) * points.spacing_mm.x,
               s_mm = (0.5 * law.count_s + 0.5 + slack) * points.spacing_mm.y;
  const double cosine = fabs(points.cos_f), sine = fabs(points.sin_f);
  const double half_x = (cosine * u_mm + sine * s_mm) / voxels.spacing_mm.x + slack,
               half_y = (sine * u_mm + cosine * s_mm) / voxels.spacing_mm.y + slack;
  const Vec3d middle = voxels.coordinates(0.5 * (points.position(i, j, 0) + points.position(i + 1, j + 1, 0)));
  const int begin_x = max(0, static_cast<int>(ceil(middle.x - half_x))),
            end_x = min(voxels.size[0], static_cast<int>(floor(middle.x + half_x)) + 1);
  const int begin_y = max(0, static_cast<int>(ceil(middle.y - half_y))),
            end_y = min(voxels.size[1], static_cast<int>(floor(middle.y + half_y)) + 1);
  for (int y = begin_y; y < end_y; ++y)
    for (int x = begin_x; x < end_x; ++x) {
      const int column = y * voxels.size[0] + x;
      const ColumnStart start = weights.starts[column];
      if (i + 1 < start.u || i >= start.u + law.count_u || j + 1 < start.s || j >= start.s + law.count_s) continue;
      const float4 weight = {weights.at(column, i, j), weights.at(column, i + 1, j), weights.at(column, i, j + 1),
                             weights.at(column, i + 1, j + 1)};
      if (is_any(weight)) take(weight, column);
    }
}

/// take(weights, source) for all points that the four columns from (x, y) on collect; sources lie as `at` says.
template <class Take>
__device__ void for_each_point(const DeviceStages& stages, const ViewWeights& weights, const DirectLattice& voxels,
                               const StageLattice& at, int margin, int x, int y, const Take& take) {
  const ResamplingLaw& law = weights.law;
  int column[4], begin_i = INT_MAX, end_i = INT_MIN, begin_j = INT_MAX, end_j = INT_MIN;
  for (int c = 0; c < 4; ++c) {
    const int here_x = x + c % 2, here_y = y + c / 2;
    column[c] = here_x < voxels.size[0] && here_y < voxels.size[1] ? here_y * voxels.size[0] + here_x : -1;
    if (column[c] < 0) continue;
    const ColumnStart start = weights.starts[column[c]];
    begin_i = min(begin_i, start.u);
    end_i = max(end_i, start.u + law.count_u);
    begin_j = min(begin_j, start.s);
    end_j = max(end_j, start.s + law.count_s);
  }
  begin_i = max(begin_i, -margin);
  end_i = min(end_i, stages.between.size[0] + margin);
  begin_j = max(begin_j, 0);
  end_j = min(end_j, stages.between.size[1]);
  for (int j = begin_j; j < end_j; ++j)
    for (int i = begin_i; i < end_i; ++i) {
      float of[4] = {};
      for (int c = 0; c < 4; ++c)
        if (column[c] >= 0) of[c] = weights.at(column[c], i, j);
      const float4 weight = {of[0], of[1], of[2], of[3]};
      if (is_any(weight)) take(weight, j * at.width + i + at.margin);
    }
}

template <class Take>
__device__ void for_each_source(const StageViews& views, int slot, const WeightsAcross& across,
                                const DirectLattice& voxels, const StageLattice& at, bool is_out, int margin,
                                bool to_points, const FirstTarget& target, const Take& take) {
  const DeviceStages& stages = views[slot];
  const ViewWeights weights(stages.resampling(is_out).law, across, slot);
  if (!to_points) return for_each_point(stages, weights, voxels, at, margin, target.x, target.y, take);
  const int i = target.x - at.margin, j = target.y;
  if (j < stages.between.size[1] && i + 1 >= -margin && i < stages.between.size[0] + margin)
    for_each_column(stages, weights, voxels, i, j, take);
}

/// Which sources the groups of a tile read: a bit for each, in shared memory, and how many come before each word.
struct TileSources {
  std::uint32_t* bits;
  std::int32_t* before;
  int words;

  __device__ TileSources(std::uint32_t* shared, int sources)
      : bits(shared), before(reinterpret_cast<std::int32_t*>(shared) + words_of(sources)), words(words_of(sources)) {}
  TOFSTREAM_HOST_DEVICE static int words_of(int sources) { return (sources + 31) / 32; }
  static std::size_t bytes(int sources) {
    return sizeof(std::uint32_t) * 2 * static_cast<std::size_t>(words_of(sources));
  }

  __device__ void clear() const {
    for (int w = static_cast<int>(threadIdx.x); w < words; w += list_threads) bits[w] = 0;
    __syncwarp();
  }
  __device__ void add(int source) const { atomicOr(bits + source / 32, 1u << source % 32); }
  /// Once all are added; returns how many there are.
  __device__ int count() const {
    __syncwarp();
    int sum = 0;
    for (int first = 0; first < words; first += list_threads) {
      const int w = first + static_cast<int>(threadIdx.x), own = w < words ? __popc(bits[w]) : 0;
      int until = own;
      for (int by = 1; by < list_threads; by *= 2) {
        const int other = __shfl_up_sync(~0u, until, by);
        if (static_cast<int>(threadIdx.x) >= by) until += other;
      }
      if (w < words) before[w] = sum + until - own;
      sum += __shfl_sync(~0u, until, list_threads - 1);
    }
    __syncwarp();
    return sum;
  }
  __device__ int number(int source) const {
    return before[source / 32] + __popc(bits[source / 32] & ((1u << source % 32) - 1));
  }
  template <class Take>
  __device__ void for_each(const Take& take) const {
    for (int w = static_cast<int>(threadIdx.x); w < words; w += list_threads)
      for (std::uint32_t left = bits[w]; left != 0; left &= left - 1) take(32 * w + __ffs(static_cast<int>(left)) - 1);
  }
};

/// counts[place][group] = entries, in whole fours; column_counts[place][tile]. A warp has a tile, and a lane a group.
__global__ void __launch_bounds__(list_threads)
    count_sources(StageViews views, WeightsAcross across, DirectLattice voxels, StageLattice at, bool is_out,
                  int margin, bool to_points, TargetGroups groups, int sources, std::int32_t* counts,
                  std::int32_t* column_counts) {
  extern __shared__ std::uint32_t words[];
  const int tile = static_cast<int>(blockIdx.x), slot = static_cast<int>(blockIdx.y), place = views.index[slot];
  const int group = tile * TargetGroups::of_tile + static_cast<int>(threadIdx.x);
  const TileSources of_tile(words, sources);
  of_tile.clear();
  if (threadIdx.x < TargetGroups::of_tile) {
    int count = 0;
    for_each_source(views, slot, across, voxels, at, is_out, margin, to_points, FirstTarget(groups, group),
                    [&](float4, int source) {
                      of_tile.add(source);
                      ++count;
                    });
    counts[std::int64_t{place} * (groups.count() + 1) + group] = to_four(count);
  }
  const int columns = of_tile.count();
  if (threadIdx.x == 0) column_counts[std::int64_t{place} * groups.tiles() + tile] = columns;
}

__global__ void __launch_bounds__(list_threads)
    make_lists(StageViews views, WeightsAcross across, DirectLattice voxels, StageLattice at, bool is_out, int margin,
               bool to_points, TargetGroups groups, int sources, GatherLists lists) {
  extern __shared__ std::uint32_t words[];
  const int tile = static_cast<int>(blockIdx.x), slot = static_cast<int>(blockIdx.y), place = views.index[slot];
  const int group = tile * TargetGroups::of_tile + static_cast<int>(threadIdx.x);
  const bool has_group = threadIdx.x < TargetGroups::of_tile;
  const TileSources of_tile(words, sources);
  const auto for_each = [&](const auto& take) {
    if (has_group)
      for_each_source(views, slot, across, voxels, at, is_out, margin, to_points, FirstTarget(groups, group), take);
  };
  of_tile.clear();
  for_each([&](float4, int source) { of_tile.add(source); });
  of_tile.count();
  std::int32_t* const columns = lists.columns_of(slot, place, groups.tiles(), tile);
  of_tile.for_each([&](int source) { columns[of_tile.number(source)] = source; });
  if (!has_group) return;
  const std::int32_t* const begins = lists.begins + std::int64_t{place} * (groups.count() + 1) + group;
  std::int64_t to = lists.first(slot, place) + begins[0];
  const std::int64_t end = to + begins[1] - begins[0];
  std::uint16_t last = 0;
  for_each([&](float4 weight, int source) {
    lists.weights[to] = weight;
    lists.sources[to++] = last = static_cast<std::uint16_t>(of_tile.number(source));
  });
  for (; to < end; ++to) {
    lists.weights[to] = float4{};
    lists.sources[to] = last;
  }
}

}  // namespace

PlaneResampling::PlaneResampling(const Grid& grid, const std::vector<DeviceStages>& stages, const StageViews& all,
                                 RadialSteps steps, const StageLattice& lattice, int rows, bool is_out, bool has_margin,
                                 std::size_t& most_bytes)
    : grid_(grid),
      voxels_(DirectLattice::of(grid, HistoLattice::image, {})),
      steps_(steps),
      lattice_(lattice),
      rows_(rows),
      is_out_(is_out),
      has_margin_(has_margin) {
  for (const DeviceStages& place : stages) {
    const ResamplingLaw& law = place.resampling(is_out).law;
    across_stride_ = std::max(across_stride_, law.count_u + law.count_s);
  }
  to_points_.groups = TargetGroups(lattice.made, lattice.lines, lattice.width);
  to_voxels_.groups = TargetGroups(grid.size[0], grid.size[1], grid.size[0]);
  to_points_.sources = columns();
  to_voxels_.sources = lattice.lines * lattice.width;
  count_entries(to_points_, true, all);
  count_entries(to_voxels_, false, all);
  std::size_t bytes = 0;
  for (const Lists* const lists : {&to_points_, &to_voxels_})
    bytes += static_cast<std::size_t>(lists->place_entries.back()) * (sizeof(float4) + sizeof(std::uint16_t)) +
             static_cast<std::size_t>(all.count) * column_numbers(*lists) * sizeof(std::int32_t);
  keeps_all_ = bytes <= most_bytes;
  if (!keeps_all_) return;
  most_bytes -= bytes;
  for (Lists* const lists : {&to_points_, &to_voxels_})
    lists->places = Buffer<std::int64_t>::from(lists->place_entries).to(Memory::device);
  make_room(all.count, nullptr);
  for_each_part(all, [&](const StageViews& part) {
    queue_weights(part, nullptr);
    queue_lists(part, nullptr);
  });
  synchronize(nullptr);
  across_weights_ = {};
  across_starts_ = {};
}

/// Calls work(some views), for whose weights across z there is room.
template <class Work>
void PlaneResampling::for_each_part(const StageViews& all, const Work& work) {
  constexpr std::int64_t most_floats = 16 << 20;
  const std::int64_t a_view = std::int64_t{columns()} * across_stride_;
  const int part = static_cast<int>(std::clamp<std::int64_t>(most_floats / a_view, 1, all.count));
  for (int first = 0; first < all.count; first += part)
    work(StageViews{all.stages, all.index + first, std::min(part, all.count - first)});
}

void PlaneResampling::count_entries(Lists& lists, bool to_points, const StageViews& all) {
  const std::int64_t stride = lists.groups.count() + 1;
  const int tiles = lists.groups.tiles();
  lists.begins = Buffer<std::int32_t>::zeros(Memory::device, all.count * stride);
  lists.column_counts = Buffer<std::int32_t>(Memory::device, std::int64_t{all.count} * tiles);
  const std::size_t bytes = TileSources::bytes(lists.sources);
  take_shared(count_sources);
  take_shared(make_lists);
  for_each_part(all, [&](const StageViews& part) {
    queue_weights(part, nullptr);
    count_sources<<<dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(part.count)), list_threads, bytes>>>(
        part, across(), voxels_, lattice_, is_out_, has_margin_ ? lattice_.margin : 0, to_points, lists.groups,
        lists.sources, lists.begins.data(), lists.column_counts.data());
    check_launch("count what views read");
  });
  std::vector<std::int32_t> begins = lists.begins.to_vector();
  lists.place_entries = {0};
  for (int place = 0; place < all.count; ++place) {
    std::int32_t* const of_place = begins.data() + place * stride;
    std::int32_t entries = 0;
    for (std::int64_t group = 0; group < stride; ++group) {
      lists.most_of_group = std::max(lists.most_of_group, of_place[group]);
      entries += std::exchange(of_place[group], entries);
    }
    lists.most = std::max<std::int64_t>(lists.most, entries);
    lists.place_entries.push_back(lists.place_entries.back() + entries);
    for (int tile = 0; tile < tiles; ++tile) {
      const std::int32_t* const of_tile = of_place + tile * TargetGroups::of_tile;
      lists.most_of_tile = std::max(lists.most_of_tile, of_tile[TargetGroups::of_tile] - of_tile[0]);
    }
  }
  for (const std::int32_t count : lists.column_counts.to_vector())
    lists.most_columns = std::max(lists.most_columns, to_four(count));
  if (lists.most_columns > UINT16_MAX)
    throw std::invalid_argument(
        "the kernel reaches too many voxels for two_stage on a GPU: take larger voxels, operator fft, or backend: cpu");
  lists.shape = GatherShape::of(lists.most_of_tile, lists.most_columns, rows_);
  lists.begins = Buffer<std::int32_t>::from(begins).to(Memory::device);
  synchronize(nullptr);  // the host's copy may go
}

/// Of a place.
std::size_t PlaneResampling::column_numbers(const Lists& lists) {
  return static_cast<std::size_t>(lists.groups.tiles()) * static_cast<std::size_t>(lists.most_columns);
}

/// For lists of so many views, or of all places.
void PlaneResampling::make_room(int views, Stream stream) {
  for (Lists* const lists : {&to_points_, &to_voxels_}) {
    const std::int64_t entries = keeps_all_ ? lists->place_entries.back() : views * lists->most;
    if (lists->entries.size() < entries) {
      lists->weights = Buffer<float4>(Memory::device, entries, stream);
      lists->entries = Buffer<std::uint16_t>(Memory::device, entries, stream);
    }
    const auto numbers = static_cast<std::int64_t>(column_numbers(*lists)) * views;
    if (lists->columns.size() < numbers) lists->columns = Buffer<std::int32_t>(Memory::device, numbers, stream);
  }
}

GatherLists PlaneResampling::at(Lists& lists) const {
  return {lists.begins.data(),
          keeps_all_ ? lists.places.data() : nullptr,
          lists.most,
          lists.weights.data(),
          lists.entries.data(),
          lists.columns.data(),
          lists.column_counts.data(),
          lists.most_of_tile,
          lists.most_columns};
}
WeightsAcross PlaneResampling::across() {
  return {across_weights_.data(), across_starts_.data(), across_stride_, columns()};
}

void PlaneResampling::queue_weights(const StageViews& views, Stream stream) {
  const std::int64_t tables = std::int64_t{views.count} * columns();
  if (across_starts_.size() < tables) {
    across_weights_ = Buffer<float>(Memory::device, tables * across_stride_, stream);
    across_starts_ = Buffer<ColumnStart>(Memory::device, tables, stream);
  }
  make_weights<<<dim3(parts(columns(), weight_threads), static_cast<unsigned>(views.count)), weight_threads, 0,
                 stream>>>(views, voxels_, steps_, is_out_, across());
  check_launch("make the weights of views");
}

void PlaneResampling::queue_lists(const StageViews& views, Stream stream) {
  for (Lists* const lists : {&to_points_, &to_voxels_}) {
    const dim3 tiles(static_cast<unsigned>(lists->groups.tiles()), static_cast<unsigned>(views.count));
    make_lists<<<tiles, list_threads, TileSources::bytes(lists->sources), stream>>>(
        views, across(), voxels_, lattice_, is_out_, has_margin_ ? lattice_.margin : 0, lists == &to_points_,
        lists->groups, lists->sources, at(*lists));
    check_launch("list what views read");
  }
}

void PlaneResampling::prepare(const StageViews& views, Stream stream) {
  if (keeps_all_) return;
  make_room(views.count, stream);
  queue_weights(views, stream);
  queue_lists(views, stream);
}

void PlaneResampling::queue_gather(const StageViews& views, Lists& lists, const GatheredColumns& columns, int slots,
                                   bool adds, Stream stream) {
  const int lists_of_thread = static_cast<int>(parts(views.count, slots));
  two_stage::queue_gather(views, at(lists), lists.groups, lists.shape, rows_, columns, slots, adds,
                          lists_of_thread * lists.most_of_group, stream);
}

void PlaneResampling::queue_to_points(const StageViews& views, const GatheredColumns& columns, Stream stream) {
  queue_gather(views, to_points_, columns, views.count, false, stream);
}

void PlaneResampling::queue_to_voxels(const StageViews& views, const GatheredColumns& columns, Stream stream) {
  queue_gather(views, to_voxels_, columns, views.count, false, stream);
}

void PlaneResampling::queue_to_sums(const StageViews& views, const GatheredColumns& columns, int sums, bool adds,
                                    Stream stream) {
  queue_gather(views, to_voxels_, columns, sums, adds, stream);
}

int PlaneResampling::sums_of(int views) const {
  constexpr unsigned enough_blocks = 1200;  // more than twice what the largest GPUs hold at once
  const int blocks = to_voxels_.groups.tiles() * to_voxels_.shape.chunks;
  return std::clamp(static_cast<int>(parts(enough_blocks, blocks)), 1, views);
}

}  // namespace tofstream::two_stage
// SPDX-License-Identifier: Apache-2.0
