// What the lattice's points of some views give to each voxel: see spect_cuda.cuh. A warp has a column of voxels; its
// lanes look for points about it, then add up rows, view after view and point after point: the order is fixed.
#include <algorithm>
#include <cmath>

#include "kernels/cuda/check.hpp"
#include "kernels/spect/footprint_reader.cuh"

namespace tofstream::spect {

namespace {

constexpr int gather_lanes = 32;
constexpr int tile_x = 4, tile_y = 2;  // columns of a block: neighbours read the same points
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

__global__ void __launch_bounds__(gather_lanes* tile_x* tile_y)
    gather(DeviceCamera camera, DeviceViews views, int first, int count, Candidates most, PlaneVolume volume, bool adds,
           float* columns) {
  const ColumnGrid& grid = camera.image;
  const int warp = static_cast<int>(threadIdx.x) / gather_lanes, lane = static_cast<int>(threadIdx.x) % gather_lanes;
  const int tiles_x = (grid.nx + tile_x - 1) / tile_x;
  const int x = static_cast<int>(blockIdx.x) % tiles_x * tile_x + warp % tile_x;
  const int y = static_cast<int>(blockIdx.x) / tiles_x * tile_y + warp / tile_x;
  if (!grid.has_image(x, y)) return;
  const ViewLattice& lattice = camera.lattice;
  const auto x_mm = static_cast<float>(grid.origin_x + x / grid.per_x);
  const auto y_mm = static_cast<float>(grid.origin_y + y / grid.per_y);
  const int column = grid.column(x, y), row = (static_cast<int>(blockIdx.y) * gather_lanes + lane) * 4;
  const bool has_rows = row < camera.stride;
  const int a_view = most.planes * most.columns, all = count * a_view;
  float4 sum{};
  for (int begin = 0; begin < all; begin += gather_lanes) {
    const int number = begin + lane, member = number / a_view;
    float share = 0;
    int at = 0;
    if (number < all) {
      const int place = views.index[views.view(first + member)];
      const Candidate candidate(camera, camera.looks[place], most, number % a_view, x_mm, y_mm);
      if (candidate.exists) {
        const std::int64_t point = camera.taps.plane(lattice, place, candidate.k) * lattice.columns() + candidate.c;
        const std::int32_t base = camera.taps.base[point];
        if (base >= 0) share = FootprintWeights(camera.taps.beyond[point]).of(column, base, grid.width());
        at = static_cast<int>(volume.column(lattice, member, candidate.k, candidate.c));
      }
    }
    unsigned found = __ballot_sync(~0u, share > 0);
    float4 part{};  // an error of rounding grows with the root of the terms of a sum
    while (found != 0) {
      float weight[reads_at_once];
      float4 value[reads_at_once];
#pragma unroll
      for (int i = 0; i < reads_at_once; ++i) {
        const bool is_one = found != 0;
        const int from = is_one ? __ffs(static_cast<int>(found)) - 1 : 0;
        found &= found - 1;
        const float weight_there = __shfl_sync(~0u, share, from);
        const int column_there = __shfl_sync(~0u, at, from);
        weight[i] = is_one ? weight_there : 0.0f;
        value[i] = is_one && has_rows
                       ? four_at(volume.values, static_cast<std::int64_t>(column_there) * camera.stride + row)
                       : float4{};
      }
#pragma unroll
      for (int i = 0; i < reads_at_once; ++i) add_scaled(part, weight[i], value[i]);
    }
    add_scaled(sum, 1, part);
  }
  if (!has_rows) return;
  const std::int64_t to = static_cast<std::int64_t>(column) * camera.stride + row;
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

}  // namespace

void queue_gather(const DeviceCamera& camera, const DeviceViews& views, int first, int count, const PlaneVolume& volume,
                  bool adds, float* columns, Stream stream) {
  const auto parts = [](int size, int part) { return (size + part - 1) / part; };
  const dim3 grid(static_cast<unsigned>(parts(camera.image.nx, tile_x) * parts(camera.image.ny, tile_y)),
                  static_cast<unsigned>(parts(camera.stride, 4 * gather_lanes)));
  gather<<<grid, gather_lanes * tile_x * tile_y, 0, stream>>>(camera, views, first, count, candidates_of(camera),
                                                              volume, adds, columns);
  check_launch("gather the planes of views");
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
