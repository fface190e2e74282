// Sums of columns across z: see two_stage_gather.cuh.
#include <algorithm>
#include <climits>
#include <utility>

#include "kernels/cuda/chain.cuh"
#include "kernels/cuda/check.hpp"
#include "kernels/direct/two_stage_gather.cuh"

namespace tofstream::two_stage {

namespace {

constexpr int weight_threads = 128, list_threads = 64, gather_threads = 256;

/// Which groups the threads of a block have, `quads` of them a group.
struct GatherBlocks {
  TOFSTREAM_HOST_DEVICE static int first_group(unsigned block, int quads) {
    return static_cast<int>(block * gather_threads / static_cast<unsigned>(quads));
  }
  TOFSTREAM_HOST_DEVICE static int end_group(unsigned block, int quads, int groups) {
    const int end = static_cast<int>(((block + 1) * gather_threads - 1) / static_cast<unsigned>(quads)) + 1;
    return end < groups ? end : groups;
  }
  static unsigned count(int quads, int groups) { return parts(std::int64_t{groups} * quads, gather_threads); }
};

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

/// The first target of a group.
struct FirstTarget {
  int x = 0, y = 0;
  __device__ FirstTarget(const TargetGroups& groups, int group) {
    constexpr unsigned of_tile = TargetGroups::tile_x * TargetGroups::tile_y;
    const auto tiles_x = static_cast<unsigned>(groups.tiles_x);
    const unsigned tile = static_cast<unsigned>(group) / of_tile;
    const int within = static_cast<int>(static_cast<unsigned>(group) % of_tile);
    x = 2 * (static_cast<int>(tile % tiles_x) * TargetGroups::tile_x + within % TargetGroups::tile_x);
    y = 2 * (static_cast<int>(tile / tiles_x) * TargetGroups::tile_y + within / TargetGroups::tile_x);
  }
};

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

/// counts[place][group] = entries, in whole fours.
__global__ void __launch_bounds__(list_threads)
    count_sources(StageViews views, WeightsAcross across, DirectLattice voxels, StageLattice at, bool is_out,
                  int margin, bool to_points, TargetGroups groups, std::int32_t* counts) {
  const int group = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), slot = static_cast<int>(blockIdx.y);
  if (group >= groups.count()) return;
  int count = 0;
  for_each_source(views, slot, across, voxels, at, is_out, margin, to_points, FirstTarget(groups, group),
                  [&](float4, int) { ++count; });
  counts[std::int64_t{views.index[slot]} * (groups.count() + 1) + group] = to_four(count);
}

__global__ void __launch_bounds__(list_threads)
    make_lists(StageViews views, WeightsAcross across, DirectLattice voxels, StageLattice at, bool is_out, int margin,
               bool to_points, TargetGroups groups, int quads, GatherLists lists) {
  const int group = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), slot = static_cast<int>(blockIdx.y);
  if (group >= groups.count()) return;
  const int place = views.index[slot];
  const std::int32_t* const begins = lists.begins + std::int64_t{place} * (groups.count() + 1) + group;
  std::int64_t to = lists.first(slot, place) + begins[0];
  const std::int64_t end = to + begins[1] - begins[0];
  int last = 0;
  for_each_source(views, slot, across, voxels, at, is_out, margin, to_points, FirstTarget(groups, group),
                  [&](float4 weight, int source) {
                    lists.weights[to] = weight;
                    lists.sources[to++] = last = source * quads;
                  });
  for (; to < end; ++to) {
    lists.weights[to] = float4{};
    lists.sources[to] = last;
  }
}

__device__ void add_weighted(float4& sum, float weight, float4 value) {
  sum.x += weight * value.x;
  sum.y += weight * value.y;
  sum.z += weight * value.z;
  sum.w += weight * value.w;
}

/// Adds entries [first, end), whole fours.
__device__ void add_entries(const float4* weights, const std::int32_t* sources, int first, int end,
                            const float4* values, float4 (&sum)[4]) {
#pragma unroll 1
  for (int e = first; e < end; e += 4) {
    const int4 four = *reinterpret_cast<const int4*>(sources + e);
    const int source[4] = {four.x, four.y, four.z, four.w};
    float4 value[4];
#pragma unroll
    for (int a = 0; a < 4; ++a) value[a] = values[source[a]];
#pragma unroll
    for (int a = 0; a < 4; ++a) {
      const float4 weight = weights[e + a];
      add_weighted(sum[0], weight.x, value[a]);
      add_weighted(sum[1], weight.y, value[a]);
      add_weighted(sum[2], weight.z, value[a]);
      add_weighted(sum[3], weight.w, value[a]);
    }
  }
}

// An error of rounding grows with the root of the terms of a sum: longer lists are added up in parts.
constexpr int entries_of_part = 64;

/// Adds a slot's weighted sources of a group's list. `staged`: the block's lists are put into shared memory first;
/// `in_parts`: some thread adds up more than a part's entries.
template <bool staged, bool in_parts>
__device__ void add_list(GatherLists lists, const TargetGroups& groups, int quads, int slot, int place, int group,
                         const float4* values, float4 (&sum)[4]) {
  extern __shared__ float4 shared[];
  const std::int32_t* const begins = lists.begins + std::int64_t{place} * (groups.count() + 1);
  const std::int64_t of_place = lists.first(slot, place);
  const float4* weights = lists.weights + of_place;
  const std::int32_t* sources = lists.sources + of_place;
  if (staged) {
    const int first = begins[GatherBlocks::first_group(blockIdx.x, quads)],
              entries = begins[GatherBlocks::end_group(blockIdx.x, quads, groups.count())] - first;
    auto* const copied = reinterpret_cast<int4*>(shared + lists.most_of_block);
    for (int e = static_cast<int>(threadIdx.x); e < entries; e += gather_threads)
      shared[e] = __ldcs(weights + first + e);
    for (int e = static_cast<int>(threadIdx.x); e < entries / 4; e += gather_threads)
      copied[e] = __ldcs(reinterpret_cast<const int4*>(sources + first) + e);
    __syncthreads();
    weights = shared - first;
    sources = reinterpret_cast<const std::int32_t*>(copied) - first;
  }
  const int begin = group < groups.count() ? begins[group] : 0, end = group < groups.count() ? begins[group + 1] : 0;
  for (int first = begin; first < end; first += entries_of_part) {
    if (in_parts) {
      float4 part[4] = {};
      add_entries(weights, sources, first, min(first + entries_of_part, end), values, part);
#pragma unroll
      for (int t = 0; t < 4; ++t) add_weighted(sum[t], 1, part[t]);
    } else {
      add_entries(weights, sources, first, end, values, sum);
    }
  }
  if (staged) __syncthreads();  // the next slot's lists come
}

/// to[slot][target] (+)= the weighted sources of its list, four rows a thread; of slots blockIdx.y, blockIdx.y +
/// gridDim.y, ...
template <bool staged, bool in_parts>
__global__ void __launch_bounds__(gather_threads, in_parts ? 4 : 5)
    gather(StageViews views, GatherLists lists, TargetGroups groups, int quads, GatheredColumns columns, bool adds) {
  chain::wait_for_those_before();
  const unsigned n = blockIdx.x * gather_threads + threadIdx.x, quads_here = static_cast<unsigned>(quads);
  const auto group = static_cast<int>(n / quads_here), quad = static_cast<int>(n % quads_here);
  const auto first_slot = static_cast<int>(blockIdx.y);
  float4 sum[4] = {};
  for (int slot = first_slot; slot < views.count; slot += static_cast<int>(gridDim.y))
    add_list<staged, in_parts>(lists, groups, quads, slot, views.index[slot], group,
                               reinterpret_cast<const float4*>(columns.from + slot * columns.from_slot) + quad, sum);
  if (group >= groups.count()) return;
  const FirstTarget target(groups, group);
  auto* const to = reinterpret_cast<float4*>(columns.to + first_slot * columns.to_slot) + quad;
#pragma unroll
  for (int t = 0; t < 4; ++t) {
    const int x = target.x + t % 2, y = target.y + t / 2;
    if (x >= groups.points || y >= groups.lines) continue;
    float4& out = to[(std::int64_t{y} * groups.width + x) * quads];
    if (adds) add_weighted(sum[t], 1, out);
    out = sum[t];
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
    bytes += static_cast<std::size_t>(lists->place_entries.back()) * (sizeof(float4) + sizeof(std::int32_t));
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
  lists.begins = Buffer<std::int32_t>::zeros(Memory::device, all.count * stride);
  for_each_part(all, [&](const StageViews& part) {
    queue_weights(part, nullptr);
    count_sources<<<dim3(parts(stride, list_threads), static_cast<unsigned>(part.count)), list_threads>>>(
        part, across(), voxels_, lattice_, is_out_, has_margin_ ? lattice_.margin : 0, to_points, lists.groups,
        lists.begins.data());
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
    const int quads = rows_ / 4, groups = lists.groups.count();
    for (unsigned block = 0; block < GatherBlocks::count(quads, groups); ++block)
      lists.most_of_block = std::max(lists.most_of_block, of_place[GatherBlocks::end_group(block, quads, groups)] -
                                                              of_place[GatherBlocks::first_group(block, quads)]);
  }
  // Four blocks are to fit a multiprocessor.
  constexpr std::size_t most_shared = 48 << 10;
  const std::size_t bytes = static_cast<std::size_t>(lists.most_of_block) * (sizeof(float4) + sizeof(std::int32_t));
  lists.shared_bytes = bytes <= most_shared ? bytes : 0;
  lists.begins = Buffer<std::int32_t>::from(begins).to(Memory::device);
  synchronize(nullptr);  // the host's copy may go
}

/// For lists of so many views, or of all places.
void PlaneResampling::make_room(int views, Stream stream) {
  for (Lists* const lists : {&to_points_, &to_voxels_}) {
    const std::int64_t entries = keeps_all_ ? lists->place_entries.back() : views * lists->most;
    if (lists->sources.size() >= entries) continue;
    lists->weights = Buffer<float4>(Memory::device, entries, stream);
    lists->sources = Buffer<std::int32_t>(Memory::device, entries, stream);
  }
}

GatherLists PlaneResampling::at(Lists& lists) const {
  return {lists.begins.data(),  keeps_all_ ? lists.places.data() : nullptr,
          lists.most,           lists.most_of_block,
          lists.weights.data(), lists.sources.data()};
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
    const dim3 blocks(parts(lists->groups.count(), list_threads), static_cast<unsigned>(views.count));
    make_lists<<<blocks, list_threads, 0, stream>>>(views, across(), voxels_, lattice_, is_out_,
                                                    has_margin_ ? lattice_.margin : 0, lists == &to_points_,
                                                    lists->groups, rows_ / 4, at(*lists));
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
  const int quads = rows_ / 4;
  const dim3 blocks(GatherBlocks::count(quads, lists.groups.count()), static_cast<unsigned>(slots));
  const int lists_of_thread = static_cast<int>(parts(views.count, slots));
  const bool in_parts = lists_of_thread * lists.most_of_group > entries_of_part;
  const auto staged = in_parts ? gather<true, true> : gather<true, false>;
  const auto kernel = lists.shared_bytes > 0 ? staged : gather<false, true>;
  chain::launch("gather columns", kernel, blocks, gather_threads, lists.shared_bytes, stream, views, at(lists),
                lists.groups, quads, columns, adds);
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
  const unsigned blocks = GatherBlocks::count(rows_ / 4, to_voxels_.groups.count());
  return std::clamp(static_cast<int>(parts(enough_blocks, blocks)), 1, views);
}

}  // namespace tofstream::two_stage
// SPDX-License-Identifier: Apache-2.0
