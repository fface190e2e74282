// What the lattice's points of some views give to each voxel: see spect_cuda.cuh. A warp has a column of voxels; its
// lanes look for points about it, then add up rows, view after view and point after point: the order is fixed.
#include "kernels/cuda/check.hpp"
#include "kernels/spect/spect_cuda.cuh"

namespace tofstream::spect {

namespace {

constexpr int gather_lanes = 32;
constexpr int gather_warps = 8;
constexpr int rows_a_lane = 5;

/// The share that a column of voxels has in a footprint.
__device__ float share_of(std::int32_t base, float4 weight, int column, int nx) {
  const int beside = column - base;
  if (beside == 0) return weight.x;
  if (beside == 1) return weight.y;
  if (beside == nx) return weight.z;
  return beside == nx + 1 ? weight.w : 0.0f;
}

/// Planes and columns of a view's lattice in which a voxel may have a share.
struct Nearby {
  int first_plane, planes, columns;
  double u_mm, reach_u_mm;
};

__device__ Nearby nearby(const DeviceCamera& camera, const LatticeView& look, double x_mm, double y_mm) {
  const ViewLattice& lattice = camera.lattice;
  const double n = x_mm * look.sin + y_mm * look.cos, u = y_mm * look.sin - x_mm * look.cos - look.centre_u_mm;
  const double voxel_x = 1 / camera.image.per_x, voxel_y = 1 / camera.image.per_y;
  const double reach_n = fabs(look.sin) * voxel_x + fabs(look.cos) * voxel_y;
  const double reach_u = fabs(look.cos) * voxel_x + fabs(look.sin) * voxel_y;
  const double plane = lattice.middle_plane() - n / lattice.step, reach = reach_n / lattice.step;
  const int first = max(static_cast<int>(ceil(plane - reach - 1e-4)), lattice.first);
  const int last = min(static_cast<int>(floor(plane + reach + 1e-4)), lattice.last);
  double least_scale = 1;
  if (first <= last) least_scale = fmin(look.scale_u(lattice, first), look.scale_u(lattice, last));
  return {first, max(last - first + 1, 0), static_cast<int>(2 * reach_u / (lattice.pu * least_scale)) + 2, u, reach_u};
}

__global__ void __launch_bounds__(gather_lanes* gather_warps)
    gather(DeviceCamera camera, DeviceViews views, int first, int count, DeviceTaps taps, const float* planes,
           float* columns) {
  const int column = static_cast<int>(blockIdx.x) * gather_warps + static_cast<int>(threadIdx.x) / gather_lanes;
  const ColumnGrid& grid = camera.image;
  if (column >= grid.nx * grid.ny || (grid.support && !grid.support[column])) return;
  const ViewLattice& lattice = camera.lattice;
  const int lane = static_cast<int>(threadIdx.x) % gather_lanes, x = column % grid.nx, y = column / grid.nx;
  const double x_mm = grid.origin_x + x / grid.per_x, y_mm = grid.origin_y + y / grid.per_y;
  const int first_row = static_cast<int>(blockIdx.y) * gather_lanes * rows_a_lane + lane;
  const int plane_count = lattice.last - lattice.first + 1;
  float sums[rows_a_lane] = {};
  for (int m = 0; m < count; ++m) {
    const LatticeView look = camera.looks[views.index[views.view(first + m)]];
    const Nearby near = nearby(camera, look, x_mm, y_mm);
    const int candidates = near.planes * near.columns;
    for (int begin = 0; begin < candidates; begin += gather_lanes) {
      const int candidate = begin + lane;
      float share = 0;
      std::int64_t at = 0;
      if (candidate < candidates) {
        const int k = near.first_plane + candidate / near.columns;
        const double scale = look.scale_u(lattice, k);
        const double low = (near.u_mm - near.reach_u_mm) / (scale * lattice.pu) + lattice.middle_column();
        const int c = static_cast<int>(ceil(low - 1e-4)) + candidate % near.columns;
        if (c >= 0 && c < lattice.columns()) {
          at = (static_cast<std::int64_t>(m) * plane_count + k - lattice.first) * lattice.columns() + c;
          share = share_of(taps.base[at], taps.weight[at], column, grid.nx);
        }
      }
      unsigned found = __ballot_sync(~0u, share > 0);
      while (found != 0) {
        const int from = __ffs(static_cast<int>(found)) - 1;
        found &= found - 1;
        const float weight = __shfl_sync(~0u, share, from);
        const float* const row = planes + __shfl_sync(~0u, at, from) * camera.stride;
#pragma unroll
        for (int i = 0; i < rows_a_lane; ++i) {
          const int r = first_row + i * gather_lanes;
          if (r < camera.stride) sums[i] += weight * row[r];
        }
      }
    }
  }
  for (int i = 0; i < rows_a_lane; ++i) {
    const int r = first_row + i * gather_lanes;
    if (r < camera.stride) columns[static_cast<std::int64_t>(column) * camera.stride + r] += sums[i];
  }
}

}  // namespace

void queue_gather(const DeviceCamera& camera, const DeviceViews& views, int first, int count, const DeviceTaps& taps,
                  const float* planes, float* columns, Stream stream) {
  const auto parts = [](int size, int part) { return static_cast<unsigned>((size + part - 1) / part); };
  const dim3 grid(parts(camera.image.nx * camera.image.ny, gather_warps),
                  parts(camera.stride, gather_lanes * rows_a_lane));
  gather<<<grid, gather_lanes * gather_warps, 0, stream>>>(camera, views, first, count, taps, planes, columns);
  check_launch("gather the planes of views");
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
