// Images to rotated planes and back, by a warp for each column of numbers: see general_cuda.cuh.
#include <type_traits>

#include "kernels/cuda/check.hpp"
#include "kernels/spect/footprint_reader.cuh"
#include "kernels/spect/general_footprint.cuh"

namespace tofstream::spect {

namespace {

constexpr int rotate_threads = 256, rotate_warps = rotate_threads / warp_lanes;
constexpr int row_threads = 128;

unsigned blocks_of(std::int64_t items, int a_block) {
  return static_cast<unsigned>((items + a_block - 1) / a_block);
}

/// A warp for each plane of each place, whose lanes share its columns.
template <Footprint kind>
__global__ void __launch_bounds__(rotate_threads) find_ranges(GeneralCamera camera, int places, int2* ranges) {
  const std::int64_t item = std::int64_t{blockIdx.x} * rotate_warps + threadIdx.x / warp_lanes;
  if (item >= std::int64_t{places} * camera.planes()) return;
  const int place = static_cast<int>(item / camera.planes());
  const int k = camera.lattice.first + static_cast<int>(item % camera.planes());
  const FootprintOf<kind> footprint(camera, place);
  int begin = camera.lattice.columns(), end = 0;
  for (int c = static_cast<int>(threadIdx.x) % warp_lanes; c < camera.lattice.columns(); c += warp_lanes) {
    const VoxelsOfPoint<kind> search(footprint, k, c);
    bool found = false;
    for (int i = 0; i < search.count() && !found; ++i) found = search.tap(i).weight != 0;
    if (!found) continue;
    begin = min(begin, c);
    end = max(end, c + 1);
  }
  for (int apart = warp_lanes / 2; apart > 0; apart /= 2) {
    begin = min(begin, __shfl_xor_sync(all_lanes, begin, apart));
    end = max(end, __shfl_xor_sync(all_lanes, end, apart));
  }
  if (threadIdx.x % warp_lanes == 0) ranges[item] = begin < end ? int2{begin, end} : int2{0, 0};
}

constexpr int column_rows_a_warp = 4 * warp_lanes;  // of a column, four a lane

/// sum += weights times a lane's four rows at `row` of each tap's column, from(i) of the i-th; numbers smaller than
/// small(i) count as 0. All are read before any is added.
template <class Column, class Small>
__device__ void add_taps(float4& sum, const FoundTaps& some, int row, const Column& from, const Small& small) {
  float4 values[FoundTaps::count];
#pragma unroll
  for (int i = 0; i < FoundTaps::count; ++i) values[i] = four_at(from(i), row);
#pragma unroll
  for (int i = 0; i < FoundTaps::count; ++i) {
    float4& value = values[i];
    if (const float least = small(i); least > 0)
      value = {unless_small(value.x, least), unless_small(value.y, least), unless_small(value.z, least),
               unless_small(value.w, least)};
    add_scaled(sum, some.taps[i].weight, value);
  }
}

// Most searches are for few taps, so that the lanes of a warp search for four things at a time.
constexpr int searches_a_warp = 4, lanes_a_search = warp_lanes / searches_a_warp;

template <Footprint kind>
__global__ void __launch_bounds__(rotate_threads)
    rotate(GeneralCamera camera, DeviceViews views, int first, PlaneRanges ranges, const float* columns,
           int from_stride, GeneralPlanes planes) {
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes, member = static_cast<int>(blockIdx.z);
  const int warp = static_cast<int>(blockIdx.x) * rotate_warps + static_cast<int>(threadIdx.x) / warp_lanes;
  const int first_c = warp * searches_a_warp, k = camera.lattice.first + static_cast<int>(blockIdx.y);
  if (first_c >= planes.columns) return;
  const int place = views.index[views.view(first + member)];
  const int2 range = ranges.of(camera.lattice, place, k);
  const FootprintOf<kind> footprint(camera, place);
  const VoxelsOfPoint<kind> mine(footprint, k, first_c + lane / lanes_a_search);
  const int count = is_within(first_c + lane / lanes_a_search, range) ? mine.count() : 0, i = lane % lanes_a_search;
  const bool are_few = !__any_sync(all_lanes, count > lanes_a_search);
  const GeneralTap tap = are_few && i < count ? mine.tap(i) : GeneralTap{};
  const unsigned found = __ballot_sync(all_lanes, tap.weight != 0);
  for (int search = 0; search < searches_a_warp && first_c + search < planes.columns; ++search) {
    const int c = first_c + search;
    float* const out = planes.values + planes.column(camera.lattice, member, k, c) * planes.stride;
    for (int row = 4 * lane; row - 4 * lane < planes.stride; row += column_rows_a_warp) {
      const bool has_image = row < from_stride;
      float4 sum{};
      const auto add = [&](const FoundTaps& some) {
        if (has_image)
          add_taps(
              sum, some, row, [&](int i) { return columns + std::int64_t{some.taps[i].of} * from_stride; },
              [](int) { return 0.0f; });
      };
      constexpr unsigned of_first_search = (1u << lanes_a_search) - 1;
      if (are_few)
        for_each_found(tap, found & (of_first_search << (search * lanes_a_search)), add);
      else if (is_within(c, range))
        for_each_tap(VoxelsOfPoint<kind>(footprint, k, c), add);
      if (row < planes.stride) put_four(out, row, sum);
    }
  }
}

/// A warp for each column of voxels; its lanes search the lattice points of four members at a time.
template <Footprint kind>
__global__ void __launch_bounds__(rotate_threads)
    gather_planes(GeneralCamera camera, DeviceViews views, int first, int count, PlaneRanges ranges,
                  GeneralPlanes planes, const float* least, bool adds, float* columns, int to_stride) {
  constexpr int members_a_sum = 16;  // an error of rounding then grows with the root of fewer terms
  const int voxel = static_cast<int>(blockIdx.x) * rotate_warps + static_cast<int>(threadIdx.x) / warp_lanes;
  if (voxel >= camera.image.nx * camera.image.ny) return;
  const int x = voxel % camera.image.nx, y = voxel / camera.image.nx;
  if (!camera.image.has_image(x, y)) return;
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const int row = static_cast<int>(blockIdx.y) * column_rows_a_warp + 4 * lane;
  const bool has_rows = row < to_stride;
  const std::int64_t a_member = std::int64_t{camera.planes()} * planes.columns * planes.stride;
  float4 total{}, part{};
  for (int begin = 0; begin < count; begin += searches_a_warp) {
    const int my_member = begin + lane / lanes_a_search;
    const int place = views.index[views.view(first + min(my_member, count - 1))];
    const FootprintOf<kind> footprint(camera, place);
    const PointsOfVoxel<kind> mine(footprint, ranges, place, planes.columns, x, y);
    const int my_count = my_member < count ? mine.count() : 0;
    for (int i = lane % lanes_a_search; __any_sync(all_lanes, i < my_count); i += lanes_a_search) {
      const GeneralTap tap = i < my_count ? mine.tap(i) : GeneralTap{};
      for_each_found(tap, __ballot_sync(all_lanes, tap.weight != 0), [&](const FoundTaps& some) {
        const auto member_of = [&](int i) { return begin + some.lanes[i] / lanes_a_search; };
        if (has_rows)
          add_taps(
              part, some, row,
              [&](int i) {
                return planes.values + member_of(i) * a_member + std::int64_t{some.taps[i].of} * planes.stride;
              },
              [&](int i) { return least ? least[member_of(i)] : 0.0f; });
      });
    }
    if ((begin + searches_a_warp) % members_a_sum != 0) continue;
    add_scaled(total, 1, part);
    part = {};
  }
  add_scaled(total, 1, part);
  if (!has_rows) return;
  const std::int64_t to = std::int64_t{camera.image.column(x, y)} * to_stride + row;
  if (adds) add_scaled(total, 1, four_at(columns, to));
  put_four(columns, to, total);
}

__global__ void __launch_bounds__(row_threads)
    rows_from_z(GeneralCamera camera, DeviceViews views, int first, PlaneRanges ranges, GeneralPlanes along_z,
                GeneralPlanes planes) {
  const ViewLattice& lattice = camera.lattice;
  const int c = static_cast<int>(blockIdx.x), member = static_cast<int>(blockIdx.z);
  const int k = lattice.first + static_cast<int>(blockIdx.y), place = views.index[views.view(first + member)];
  const bool is_reached = is_within(c, ranges.of(lattice, place, k));
  const RowFootprint rows(lattice, camera.looks[place], k, camera.image_rows, camera.interpolates_rows);
  float* const out = planes.values + planes.column(lattice, member, k, c) * planes.stride;
  const float* const from =
      is_reached ? along_z.values + along_z.column(lattice, member, k, c) * along_z.stride : nullptr;
  for (int row = static_cast<int>(threadIdx.x); row < planes.stride; row += row_threads) {
    float sum = 0;
    if (is_reached && row < rows.rows) {
      const OpenInterval voxels = rows.voxels_of(row);
      for (int z = voxels.begin; z < voxels.begin + voxels.count; ++z) sum += rows.weight(row, z) * from[z];
    }
    out[row] = sum;
  }
}

__global__ void __launch_bounds__(row_threads)
    z_from_rows(GeneralCamera camera, bool interpolates, DeviceViews views, int first, PlaneRanges ranges,
                GeneralPlanes planes, const float* least, GeneralPlanes along_z) {
  const ViewLattice& lattice = camera.lattice;
  const int c = static_cast<int>(blockIdx.x), member = static_cast<int>(blockIdx.z);
  const int k = lattice.first + static_cast<int>(blockIdx.y), place = views.index[views.view(first + member)];
  if (!is_within(c, ranges.of(lattice, place, k))) return;
  const RowFootprint footprint(lattice, camera.looks[place], k, camera.image_rows, interpolates);
  const float* const from = planes.values + planes.column(lattice, member, k, c) * planes.stride;
  float* const out = along_z.values + along_z.column(lattice, member, k, c) * along_z.stride;
  const float small = least ? least[member] : 0;
  for (int z = static_cast<int>(threadIdx.x); z < along_z.stride; z += row_threads) {
    float sum = 0;
    if (z < footprint.z.size) {
      const OpenInterval rows = footprint.rows_of(z);
      for (int row = rows.begin; row < rows.begin + rows.count; ++row)
        sum += footprint.weight(row, z) * unless_small(from[row], small);
    }
    out[z] = sum;
  }
}

/// Calls launch(std::integral_constant<Footprint, kind>).
template <class Launch>
void with_kind(Footprint kind, Launch&& launch) {
  if (kind == Footprint::interpolating) return launch(std::integral_constant<Footprint, Footprint::interpolating>());
  if (kind == Footprint::conserving) return launch(std::integral_constant<Footprint, Footprint::conserving>());
  launch(std::integral_constant<Footprint, Footprint::paper_back>());
}

}  // namespace

void queue_ranges(const GeneralCamera& camera, Footprint kind, int places, int2* ranges, Stream stream) {
  const unsigned blocks = blocks_of(std::int64_t{places} * camera.planes(), rotate_warps);
  with_kind(kind, [&](auto known) {
    find_ranges<known()><<<blocks, rotate_threads, 0, stream>>>(camera, places, ranges);
    check_launch("find the columns that an image reaches");
  });
}

void queue_rotate(const GeneralCamera& camera, Footprint kind, const GeneralGroup& group, const PlaneRanges& ranges,
                  const float* columns, int from_stride, const GeneralPlanes& planes) {
  const dim3 grid(blocks_of(planes.columns, rotate_warps * searches_a_warp), static_cast<unsigned>(camera.planes()),
                  static_cast<unsigned>(group.count));
  with_kind(kind, [&](auto known) {
    rotate<known()><<<grid, rotate_threads, 0, group.stream>>>(camera, group.views, group.first, ranges, columns,
                                                               from_stride, planes);
    check_launch("rotate an image");
  });
}

void queue_gather_planes(const GeneralCamera& camera, Footprint kind, const GeneralGroup& group,
                         const PlaneRanges& ranges, const GeneralPlanes& planes, const float* least, bool adds,
                         float* columns, int to_stride) {
  const dim3 grid(blocks_of(std::int64_t{camera.image.nx} * camera.image.ny, rotate_warps),
                  blocks_of(to_stride, column_rows_a_warp));
  with_kind(kind, [&](auto known) {
    gather_planes<known()><<<grid, rotate_threads, 0, group.stream>>>(camera, group.views, group.first, group.count,
                                                                      ranges, planes, least, adds, columns, to_stride);
    check_launch("rotate planes back");
  });
}

void queue_rows_from_z(const GeneralCamera& camera, const GeneralGroup& group, const PlaneRanges& ranges,
                       const GeneralPlanes& along_z, const GeneralPlanes& planes) {
  const dim3 grid(static_cast<unsigned>(planes.columns), static_cast<unsigned>(camera.planes()),
                  static_cast<unsigned>(group.count));
  rows_from_z<<<grid, row_threads, 0, group.stream>>>(camera, group.views, group.first, ranges, along_z, planes);
  check_launch("make the rows of a cone's planes");
}

void queue_z_from_rows(const GeneralCamera& camera, bool interpolates, const GeneralGroup& group,
                       const PlaneRanges& ranges, const GeneralPlanes& planes, const float* least,
                       const GeneralPlanes& along_z) {
  const dim3 grid(static_cast<unsigned>(camera.lattice.columns()), static_cast<unsigned>(camera.planes()),
                  static_cast<unsigned>(group.count));
  z_from_rows<<<grid, row_threads, 0, group.stream>>>(camera, interpolates, group.views, group.first, ranges, planes,
                                                      least, along_z);
  check_launch("take the rows of a cone's planes");
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
