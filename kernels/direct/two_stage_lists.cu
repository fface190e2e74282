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

/// What lists of some views are made of.
struct ListMaker {
  StageViews views;
  WeightsAcross across;
  DirectLattice voxels;
  StageLattice at;
  bool is_out, to_points;
  int margin;
  TargetGroups groups;

  dim3 tiles() const { return {static_cast<unsigned>(groups.tiles()), static_cast<unsigned>(views.count)}; }
};

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

/// Sources [begin, end) of a group lie in these lines, and at these places of them.
struct SourceBox {
  int begin_x = 0, end_x = 0, begin_y = 0, end_y = 0;

  __device__ int width() const { return max(0, end_x - begin_x); }
  __device__ int size() const { return width() * max(0, end_y - begin_y); }
  /// The box about the boxes of all of a warp's groups.
  __device__ SourceBox of_warp() const {
    constexpr int far = 1 << 29;
    const bool has_any = size() > 0;
    return {__reduce_min_sync(~0u, has_any ? begin_x : far), __reduce_max_sync(~0u, has_any ? end_x : -far),
            __reduce_min_sync(~0u, has_any ? begin_y : far), __reduce_max_sync(~0u, has_any ? end_y : -far)};
  }
};

/// What lists of one view are made of.
struct ViewSources {
  const DeviceStages& stages;
  ViewWeights weights;
  DirectLattice voxels;
  StageLattice at;  // of points
  int margin = 0;   // of points that count
  bool to_points = false;

  /// How many sources lie from a line to the next.
  __device__ int stride() const { return to_points ? voxels.size[0] : at.width; }
  __device__ SourceBox box(const FirstTarget& target) const {
    return to_points ? columns_of(target.x - at.margin, target.y) : points_of(target.x, target.y);
  }
  /// take(weights, x, y) for all sources in a target's box that give to its four points, or columns.
  template <class Take>
  __device__ void for_each(const FirstTarget& target, const SourceBox& box, const Take& take) const {
    for (int y = box.begin_y; y < box.end_y; ++y)
      for (int x = box.begin_x; x < box.end_x; ++x) {
        const float4 weight = to_points ? of_column(x, y, target.x - at.margin, target.y)
                                        : of_point(x - at.margin, y, target.x, target.y);
        if (is_any(weight)) take(weight, x, y);
      }
  }

 private:
  /// Columns that may give to the four points from (i, j) on.
  __device__ SourceBox columns_of(int i, int j) const {
    const DirectLattice& points = stages.between;
    if (j >= points.size[1] || i + 1 < -margin || i >= points.size[0] + margin) return {};
    constexpr double slack = 2e-3;
    const ResamplingLaw& law = weights.law;
    // Columns reach half their weights from where they are; the points lie half a spacing from their middle.
    const double u_mm = (0.5 * law.count_u + 0.5 + slack) * points.spacing_mm.x,
                 s_mm = (0.5 * law.count_s + 0.5 + slack) * points.spacing_mm.y;
    const double cosine = fabs(points.cos_f), sine = fabs(points.sin_f);
    const double half_x = (cosine * u_mm + sine * s_mm) / voxels.spacing_mm.x + slack,
                 half_y = (sine * u_mm + cosine * s_mm) / voxels.spacing_mm.y + slack;
    const Vec3d middle = voxels.coordinates(0.5 * (points.position(i, j, 0) + points.position(i + 1, j + 1, 0)));
    return {max(0, static_cast<int>(ceil(middle.x - half_x))),
            min(voxels.size[0], static_cast<int>(floor(middle.x + half_x)) + 1),
            max(0, static_cast<int>(ceil(middle.y - half_y))),
            min(voxels.size[1], static_cast<int>(floor(middle.y + half_y)) + 1)};
  }
  __device__ float4 of_column(int x, int y, int i, int j) const {
    const int column = y * voxels.size[0] + x;
    const ColumnStart start = weights.starts[column];
    const ResamplingLaw& law = weights.law;
    if (i + 1 < start.u || i >= start.u + law.count_u || j + 1 < start.s || j >= start.s + law.count_s) return {};
    return {weights.at(column, i, j), weights.at(column, i + 1, j), weights.at(column, i, j + 1),
            weights.at(column, i + 1, j + 1)};
  }

  /// The number of the four columns from (x, y) on; -1: there is none.
  __device__ int column(int x, int y, int number) const {
    const int here_x = x + number % 2, here_y = y + number / 2;
    return here_x < voxels.size[0] && here_y < voxels.size[1] ? here_y * voxels.size[0] + here_x : -1;
  }
  /// Points that the four columns from (x, y) on may collect, as they lie in memory.
  __device__ SourceBox points_of(int x, int y) const {
    const ResamplingLaw& law = weights.law;
    int first_i = INT_MAX, last_i = INT_MIN, first_j = INT_MAX, last_j = INT_MIN;  // at which columns begin
    for (int c = 0; c < 4; ++c) {
      const int own = column(x, y, c);
      if (own < 0) continue;
      const ColumnStart start = weights.starts[own];
      first_i = min(first_i, start.u), last_i = max(last_i, start.u);
      first_j = min(first_j, start.s), last_j = max(last_j, start.s);
    }
    if (first_i > last_i) return {};
    return {max(first_i, -margin) + at.margin, min(last_i + law.count_u, stages.between.size[0] + margin) + at.margin,
            max(first_j, 0), min(last_j + law.count_s, stages.between.size[1])};
  }
  __device__ float4 of_point(int i, int j, int x, int y) const {
    float of[4] = {};
    for (int c = 0; c < 4; ++c)
      if (const int own = column(x, y, c); own >= 0) of[c] = weights.at(own, i, j);
    return {of[0], of[1], of[2], of[3]};
  }
};

/// Which sources the groups of a tile read: a bit for each of a box, in shared memory, and how many come before each word.
struct TileSources {
  std::uint32_t* bits;
  std::int32_t* before;
  int words;
  SourceBox box;

  __device__ TileSources(std::uint32_t* shared, const SourceBox& box)
      : bits(shared),
        before(reinterpret_cast<std::int32_t*>(shared) + words_of(box.size())),
        words(words_of(box.size())),
        box(box) {
    for (int w = static_cast<int>(threadIdx.x); w < words; w += list_threads) bits[w] = 0;
    __syncwarp();
  }
  TOFSTREAM_HOST_DEVICE static int words_of(int sources) { return (sources + 31) / 32; }
  static std::size_t bytes(int sources) {
    return sizeof(std::uint32_t) * 2 * static_cast<std::size_t>(words_of(sources));
  }

  __device__ int bit(int x, int y) const { return (y - box.begin_y) * box.width() + x - box.begin_x; }
  __device__ void add(int x, int y) const { atomicOr(bits + bit(x, y) / 32, 1u << bit(x, y) % 32); }
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
  __device__ int number(int x, int y) const {
    const int at = bit(x, y);
    return before[at / 32] + __popc(bits[at / 32] & ((1u << at % 32) - 1));
  }
  /// take(x, y) for all that were added.
  template <class Take>
  __device__ void for_each(const Take& take) const {
    for (int w = static_cast<int>(threadIdx.x); w < words; w += list_threads)
      for (std::uint32_t left = bits[w]; left != 0; left &= left - 1) {
        const int at = 32 * w + __ffs(static_cast<int>(left)) - 1;
        take(box.begin_x + at % box.width(), box.begin_y + at / box.width());
      }
  }
};

__device__ ViewSources sources_of(const ListMaker& of, int slot) {
  const DeviceStages& stages = of.views[slot];
  return {stages,      ViewWeights(stages.resampling(of.is_out).law, of.across, slot), of.voxels, of.at, of.margin,
          of.to_points};
}

/// A warp has a tile, and a lane a group.
struct ListShare {
  int tile, slot, group;
  bool has_group;

  __device__ ListShare()
      : tile(static_cast<int>(blockIdx.x)),
        slot(static_cast<int>(blockIdx.y)),
        group(tile * TargetGroups::of_tile + static_cast<int>(threadIdx.x)),
        has_group(threadIdx.x < TargetGroups::of_tile) {}
  __device__ SourceBox box(const ListMaker& of, const ViewSources& sources) const {
    return has_group ? sources.box(FirstTarget(of.groups, group)) : SourceBox{};
  }
};

/// Raises `most` to the largest box of a tile.
__global__ void __launch_bounds__(list_threads) measure_boxes(ListMaker of, int* most) {
  const ListShare share;
  const SourceBox box = share.box(of, sources_of(of, share.slot)).of_warp();
  if (threadIdx.x == 0) atomicMax(most, box.size());
}

/// counts[place][group] = entries, in whole fours; column_counts[place][tile].
__global__ void __launch_bounds__(list_threads)
    count_sources(ListMaker of, std::int32_t* counts, std::int32_t* column_counts) {
  extern __shared__ std::uint32_t words[];
  const ListShare share;
  const ViewSources sources = sources_of(of, share.slot);
  const SourceBox box = share.box(of, sources);
  const TileSources of_tile(words, box.of_warp());
  const int place = of.views.index[share.slot];
  if (share.has_group) {
    int count = 0;
    sources.for_each(FirstTarget(of.groups, share.group), box, [&](float4, int x, int y) {
      of_tile.add(x, y);
      ++count;
    });
    counts[std::int64_t{place} * (of.groups.count() + 1) + share.group] = to_four(count);
  }
  const int columns = of_tile.count();
  if (threadIdx.x == 0) column_counts[std::int64_t{place} * of.groups.tiles() + share.tile] = columns;
}

__global__ void __launch_bounds__(list_threads) make_lists(ListMaker of, GatherLists lists) {
  extern __shared__ std::uint32_t words[];
  const ListShare share;
  const ViewSources sources = sources_of(of, share.slot);
  const SourceBox box = share.box(of, sources);
  const TileSources of_tile(words, box.of_warp());
  const int place = of.views.index[share.slot];
  const FirstTarget target(of.groups, share.group);
  if (share.has_group) sources.for_each(target, box, [&](float4, int x, int y) { of_tile.add(x, y); });
  of_tile.count();
  std::int32_t* const columns = lists.columns_of(share.slot, place, of.groups.tiles(), share.tile);
  of_tile.for_each([&](int x, int y) { columns[of_tile.number(x, y)] = y * sources.stride() + x; });
  if (!share.has_group) return;
  const std::int32_t* const begins = lists.begins + std::int64_t{place} * (of.groups.count() + 1) + share.group;
  std::int64_t to = lists.first(share.slot, place) + begins[0];
  const std::int64_t end = to + begins[1] - begins[0];
  std::uint16_t last = 0;
  sources.for_each(target, box, [&](float4 weight, int x, int y) {
    lists.weights[to] = weight;
    lists.sources[to++] = last = static_cast<std::uint16_t>(of_tile.number(x, y));
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
    queue_lists(part, to_points_, nullptr);
    queue_lists(part, to_voxels_, nullptr);
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
  Buffer<int> most = Buffer<int>::zeros(Memory::device, 1);
  take_shared(count_sources);
  take_shared(make_lists);
  for_each_part(all, [&](const StageViews& part) {
    queue_weights(part, nullptr);
    const ListMaker of = maker(part, lists);
    measure_boxes<<<of.tiles(), list_threads>>>(of, most.data());
    check_launch("measure what views read");
    lists.most_sources = most.to_vector()[0];
    count_sources<<<of.tiles(), list_threads, TileSources::bytes(lists.most_sources)>>>(of, lists.begins.data(),
                                                                                        lists.column_counts.data());
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

ListMaker PlaneResampling::maker(const StageViews& views, const Lists& lists) {
  return {views,       across(), voxels_, lattice_, is_out_, &lists == &to_points_, has_margin_ ? lattice_.margin : 0,
          lists.groups};
}

void PlaneResampling::queue_lists(const StageViews& views, Lists& lists, Stream stream) {
  const ListMaker of = maker(views, lists);
  make_lists<<<of.tiles(), list_threads, TileSources::bytes(lists.most_sources), stream>>>(of, at(lists));
  check_launch("list what views read");
}

void PlaneResampling::prepare(const StageViews& views, Lists& lists, Stream stream) {
  if (keeps_all_) return;
  make_room(views.count, stream);
  queue_weights(views, stream);
  queue_lists(views, lists, stream);
}

void PlaneResampling::queue_gather(const StageViews& views, Lists& lists, const GatheredColumns& columns, int slots,
                                   bool adds, Stream stream) {
  const int lists_of_thread = static_cast<int>(parts(views.count, slots));
  two_stage::queue_gather(views, at(lists), lists.groups, lists.shape, rows_, columns, slots, adds,
                          lists_of_thread * lists.most_of_group, stream);
}

void PlaneResampling::queue_to_points(const StageViews& views, const GatheredColumns& columns, Stream stream) {
  prepare(views, to_points_, stream);
  queue_gather(views, to_points_, columns, views.count, false, stream);
}

void PlaneResampling::queue_to_voxels(const StageViews& views, const GatheredColumns& columns, Stream stream) {
  prepare(views, to_voxels_, stream);
  queue_gather(views, to_voxels_, columns, views.count, false, stream);
}

void PlaneResampling::queue_to_sums(const StageViews& views, const GatheredColumns& columns, int sums, bool adds,
                                    Stream stream) {
  prepare(views, to_voxels_, stream);
  queue_gather(views, to_voxels_, columns, sums, adds, stream);
}

int PlaneResampling::sums_of(int views) const {
  constexpr unsigned enough_blocks = 1200;  // more than twice what the largest GPUs hold at once
  const int blocks = to_voxels_.groups.tiles() * to_voxels_.shape.chunks;
  return std::clamp(static_cast<int>(parts(enough_blocks, blocks)), 1, views);
}

}  // namespace tofstream::two_stage
// SPDX-License-Identifier: Apache-2.0
