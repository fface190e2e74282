// What the lattice's points of some views give to each voxel: see spect_cuda.cuh. A warp has a column of voxels, or of a
// small image a part of its views; its lanes look for points about it, then groups of lanes add up rows, each of a point
// of its own. The order of all sums is fixed.
#include <algorithm>
#include <cmath>

#include "kernels/cuda/check.hpp"
#include "kernels/spect/footprint_reader.cuh"

namespace tofstream::spect {

namespace {

constexpr int gather_lanes = 32, gather_warps = 8;
constexpr int reads_at_once = 4;
constexpr float nearby_slack = 1e-3f;  // of a plane or column, for what float leaves of a position

/// Planes and columns of a lattice in which a voxel can have a share, at most.
struct Candidates {
  int planes, columns;
};

/// A point of the lattice in which a voxel may have a share.
struct Candidate {
  int k, c;
  bool exists;

  /// The `number`th of those of a view.
  __device__ Candidate(const DeviceCamera& camera, const LatticeView& look, Candidates most, int number, float x_mm,
                       float y_mm) {
    const ViewLattice& lattice = camera.lattice;
    const float sine = static_cast<float>(look.sin), cosine = static_cast<float>(look.cos);
    const float voxel_x = static_cast<float>(1 / camera.image.per_x),
                voxel_y = static_cast<float>(1 / camera.image.per_y);
    const float per_step = static_cast<float>(1 / lattice.step);
    const float plane = static_cast<float>(lattice.middle_plane()) - (x_mm * sine + y_mm * cosine) * per_step;
    const float reach = (fabsf(sine) * voxel_x + fabsf(cosine) * voxel_y) * per_step + nearby_slack;
    k = static_cast<int>(ceilf(plane - reach)) + number / most.columns;
    exists = k <= plane + reach && k >= lattice.first && k <= lattice.last;
    const float width = static_cast<float>(look.scale_u(lattice, k) * lattice.pu);
    const float u = y_mm * sine - x_mm * cosine - static_cast<float>(look.centre_u_mm);
    const float reach_u = fabsf(cosine) * voxel_x + fabsf(sine) * voxel_y;
    c = static_cast<int>(ceilf((u - reach_u) / width + static_cast<float>(lattice.middle_column()) - nearby_slack)) +
        number % most.columns;
    exists = exists && c >= 0 && c < lattice.columns();
  }
};

/// Points that a warp has found, and its voxels' shares in them.
struct FoundPoints {
  float share[gather_lanes];
  int column[gather_lanes];  // of the volume
};

/// The columns of voxels of a block, of neighbours, which read the same points; and how many warps have one.
struct GatherTile {
  int x = 4, y = 2, parts = 1;
  /// Enough for a GPU of many multiprocessors; a part has at least a lane's turn of candidates.
  static GatherTile of(std::int64_t warps, int candidates) {
    constexpr std::int64_t wanted = 132 * 48;
    GatherTile tile;
    while (tile.parts < gather_warps && warps * tile.parts < wanted && candidates > gather_lanes * tile.parts) {
      tile.parts *= 2;
      (tile.x > tile.y ? tile.x : tile.y) /= 2;
    }
    return tile;
  }
};

__device__ float4 from_lane(float4 value, int lane_mask) {
  return {__shfl_xor_sync(~0u, value.x, lane_mask), __shfl_xor_sync(~0u, value.y, lane_mask),
          __shfl_xor_sync(~0u, value.z, lane_mask), __shfl_xor_sync(~0u, value.w, lane_mask)};
}

/// The share of a column of voxels in the candidates [begin, end) of all views, four rows in each of `row_lanes` lanes.
template <int row_lanes>
__device__ float4 gather_column(const DeviceCamera& camera, const DeviceViews& views, int first, Candidates most,
                                const PlaneVolume& volume, int x, int y, int begin, int end, int row,
                                FoundPoints& found) {
  constexpr int groups = gather_lanes / row_lanes;
  const ColumnGrid& grid = camera.image;
  const ViewLattice& lattice = camera.lattice;
  const int lane = static_cast<int>(threadIdx.x) % gather_lanes, group = lane / row_lanes;
  const auto x_mm = static_cast<float>(grid.origin_x + x / grid.per_x);
  const auto y_mm = static_cast<float>(grid.origin_y + y / grid.per_y);
  const int column = grid.column(x, y), a_view = most.planes * most.columns;
  const bool has_rows = row < camera.stride;
  float4 sum{};
  for (; begin < end; begin += gather_lanes) {
    const int number = begin + lane, member = number / a_view;
    float share = 0;
    int at = 0;
    if (number < end) {
      const int place = views.index[views.view(first + member)];
      const Candidate candidate(camera, camera.looks[place], most, number % a_view, x_mm, y_mm);
      if (candidate.exists) {
        const std::int64_t point = camera.taps.plane(lattice, place, candidate.k) * lattice.columns() + candidate.c;
        const std::int32_t base = camera.taps.base[point];
        if (base >= 0) share = FootprintWeights(camera.taps.beyond[point]).of(column, base, grid.width());
        at = static_cast<int>(volume.column(lattice, member, candidate.k, candidate.c));
      }
    }
    const unsigned which = __ballot_sync(~0u, share > 0);
    if (share > 0) {
      const int to = __popc(which & ((1u << lane) - 1));
      found.share[to] = share;
      found.column[to] = at;
    }
    __syncwarp();
    const int count = __popc(which);
    float4 part{};  // an error of rounding grows with the root of the terms of a sum
    for (int i = group; i < count; i += groups * reads_at_once) {
      float weight[reads_at_once];
      float4 value[reads_at_once];
#pragma unroll
      for (int r = 0; r < reads_at_once; ++r) {
        const int from = i + r * groups;
        const bool is_one = from < count && has_rows;
        weight[r] = is_one ? found.share[from] : 0.0f;
        value[r] = is_one ? four_at(volume.values, std::int64_t{found.column[from]} * camera.stride + row) : float4{};
      }
#pragma unroll
      for (int r = 0; r < reads_at_once; ++r) add_scaled(part, weight[r], value[r]);
    }
    add_scaled(sum, 1, part);
    __syncwarp();
  }
#pragma unroll
  for (int mask = row_lanes; mask < gather_lanes; mask *= 2) add_scaled(sum, 1, from_lane(sum, mask));
  return sum;
}

template <int row_lanes>
__global__ void __launch_bounds__(gather_lanes* gather_warps)
    gather(DeviceCamera camera, DeviceViews views, int first, int count, Candidates most, GatherTile tile,
           PlaneVolume volume, bool adds, float* columns) {
  __shared__ FoundPoints found[gather_warps];
  __shared__ float4 sums[gather_warps][row_lanes];
  const ColumnGrid& grid = camera.image;
  const int warp = static_cast<int>(threadIdx.x) / gather_lanes, lane = static_cast<int>(threadIdx.x) % gather_lanes;
  const int of_block = warp / tile.parts, part = warp % tile.parts;
  const int tiles_x = (grid.nx + tile.x - 1) / tile.x;
  const int x = static_cast<int>(blockIdx.x) % tiles_x * tile.x + of_block % tile.x;
  const int y = static_cast<int>(blockIdx.x) / tiles_x * tile.y + of_block / tile.x;
  const int row = (static_cast<int>(blockIdx.y) * row_lanes + lane % row_lanes) * 4;
  const bool has_image = grid.has_image(x, y);
  const int all = count * most.planes * most.columns;
  const auto share_of = [&](int p) { return static_cast<int>(static_cast<long long>(all) * p / tile.parts); };
  float4 sum{};
  if (has_image)
    sum = gather_column<row_lanes>(camera, views, first, most, volume, x, y, share_of(part), share_of(part + 1), row,
                                   found[warp]);
  if (tile.parts > 1) {
    if (lane < row_lanes) sums[warp][lane] = sum;
    __syncthreads();
    for (int p = 1; part == 0 && p < tile.parts; ++p) add_scaled(sum, 1, sums[warp + p][lane % row_lanes]);
  }
  if (!has_image || part != 0 || lane >= row_lanes || row >= camera.stride) return;
  const std::int64_t to = static_cast<std::int64_t>(grid.column(x, y)) * camera.stride + row;
  if (adds) add_scaled(sum, 1, four_at(columns, to));
  put_four(columns, to, sum);
}

/// From the first to the last of these planes or columns, with both ends: no more than so many.
int at_most(double reach) {
  return static_cast<int>(std::floor(2 * (reach + nearby_slack))) + 1;
}

Candidates candidates_of(const DeviceCamera& camera) {
  const double voxel = std::hypot(1 / camera.image.per_x, 1 / camera.image.per_y);
  return {at_most(voxel / camera.lattice.step), at_most(voxel / (camera.least_scale_u * camera.lattice.pu))};
}

template <int row_lanes>
void queue_gather_of(const DeviceCamera& camera, const DeviceViews& views, int first, int count,
                     const PlaneVolume& volume, bool adds, float* columns, Stream stream) {
  const auto parts = [](int size, int part) { return (size + part - 1) / part; };
  const Candidates most = candidates_of(camera);
  const int row_parts = parts(camera.stride, 4 * row_lanes);
  const GatherTile tile =
      GatherTile::of(std::int64_t{camera.image.nx} * camera.image.ny * row_parts, count * most.planes * most.columns);
  const dim3 grid(static_cast<unsigned>(parts(camera.image.nx, tile.x) * parts(camera.image.ny, tile.y)),
                  static_cast<unsigned>(row_parts));
  gather<row_lanes><<<grid, gather_lanes * gather_warps, 0, stream>>>(camera, views, first, count, most, tile, volume,
                                                                      adds, columns);
  check_launch("gather the planes of views");
}

}  // namespace

void queue_gather(const DeviceCamera& camera, const DeviceViews& views, int first, int count, const PlaneVolume& volume,
                  bool adds, float* columns, Stream stream) {
  const auto queue = camera.stride <= 32   ? queue_gather_of<8>
                     : camera.stride <= 64 ? queue_gather_of<16>
                                           : queue_gather_of<32>;
  queue(camera, views, first, count, volume, adds, columns, stream);
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
