// What is left of the photons of rotated planes at the camera: see general_cuda.cuh. A warp follows some rows of a
// column from the camera on; its lanes find the column's way through the map for 32 planes at a time, each for one.
#include "kernels/cuda/check.hpp"
#include "kernels/spect/footprint_reader.cuh"
#include "kernels/spect/general_footprint.cuh"

namespace tofstream::spect {

namespace {

constexpr int follow_threads = 128, follow_warps = follow_threads / warp_lanes;

/// Where a lattice point lies in the map's columns, as DeviceTaps has it.
struct MapPoint {
  std::int32_t base = -1;
  float2 beyond{};

  __device__ MapPoint(const ViewLattice& lattice, const LatticeView& look, const ColumnGrid& mu, int k, int c) {
    if (k > lattice.last || look.depth_mm(lattice, k) <= 0) return;
    const AcrossAxis at = turned(look, lattice.n_mm(k), look.centre_u_mm + look.scale_u(lattice, k) * lattice.u_mm(c));
    const double x = snapped(mu.x_of(at.x)), y = snapped(mu.y_of(at.y));
    if (!(x > -1 && y > -1 && x < mu.nx && y < mu.ny)) return;
    const int ix = static_cast<int>(floor(x)), iy = static_cast<int>(floor(y));
    base = mu.column(ix, iy);
    beyond = {static_cast<float>(x - ix), static_cast<float>(y - iy)};
  }
  /// That of another lane.
  __device__ MapPoint(const MapPoint& mine, int lane)
      : base(__shfl_sync(all_lanes, mine.base, lane)),
        beyond{__shfl_sync(all_lanes, mine.beyond.x, lane), __shfl_sync(all_lanes, mine.beyond.y, lane)} {}
};

/// Rows that a lane follows: four beside each other, or one where each plane has rows of its own (cone).
template <bool is_cone>
struct FollowedRows {
  static constexpr int count = is_cone ? 1 : 4;
  float values[count] = {};
};

/// The way through a plane along a point's line of sight, mm.
__device__ double step_through(const ViewLattice& lattice, int column, int row) {
  const double u = lattice.beam == Beam::parallel ? 0 : lattice.u_mm(column) / lattice.focal_mm;
  const double w = lattice.beam == Beam::cone ? lattice.w_mm(row) / lattice.focal_mm : 0;
  return lattice.step * sqrt(1 + u * u + w * w);
}

/// The map at the rows of a point.
template <bool is_cone>
__device__ FollowedRows<is_cone> mu_at(const GeneralCamera& camera, const LatticeView& look, const float* mu_columns,
                                       int mu_stride, const MapPoint& point, int k, int row) {
  FollowedRows<is_cone> here;
  if (point.base < 0) return here;
  if constexpr (is_cone) {
    const RowFootprint rows(camera.lattice, look, k, camera.mu_rows, true);
    const FootprintWeights weights(point.beyond);
    const float* const from = mu_columns + std::int64_t{point.base} * mu_stride;
    const std::int64_t below = std::int64_t{camera.mu.width()} * mu_stride;
    const OpenInterval voxels = rows.voxels_of(row);
    for (int z = voxels.begin; z < voxels.begin + voxels.count; ++z)
      here.values[0] += rows.weight(row, z) *
                        (weights.here * from[z] + weights.beside_x * from[mu_stride + z] +
                         weights.beside_y * from[below + z] + weights.beside_both * from[below + mu_stride + z]);
  } else if (row < mu_stride) {
    const float4 sum = FootprintReader(camera.mu, mu_columns, mu_stride).at(point.base, point.beyond, row);
    here = {sum.x, sum.y, sum.z, sum.w};
  }
  return here;
}

template <bool is_cone>
__global__ void __launch_bounds__(follow_threads)
    attenuate_planes(GeneralCamera camera, DeviceViews views, int first, PlaneRanges ranges, const float* mu_columns,
                     int mu_stride, const float* least, GeneralPlanes planes) {
  using Rows = FollowedRows<is_cone>;
  const ViewLattice& lattice = camera.lattice;
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes, member = static_cast<int>(blockIdx.z);
  const int c = static_cast<int>(blockIdx.x) * follow_warps + static_cast<int>(threadIdx.x) / warp_lanes;
  const int row = (static_cast<int>(blockIdx.y) * warp_lanes + lane) * Rows::count;
  if (c >= lattice.columns()) return;
  const int place = views.index[views.view(first + member)];
  const LatticeView look = camera.looks[place];
  const double step_mm = step_through(lattice, c, row);
  const float small = least ? least[member] : 0;
  double in_front[Rows::count] = {};  // in double precision: its error would be that of all planes behind
  for (int begin = 0; begin <= lattice.last; begin += warp_lanes) {
    const MapPoint mine(lattice, look, camera.mu, begin + lane, c);
    for (int k = begin; k < begin + warp_lanes && k <= lattice.last; ++k) {
      const MapPoint point(mine, k - begin);
      const Rows here = mu_at<is_cone>(camera, look, mu_columns, mu_stride, point, k, row);
      float left[Rows::count];
#pragma unroll
      for (int i = 0; i < Rows::count; ++i) {
        left[i] = expf(static_cast<float>(-step_mm * (in_front[i] + 0.5 * static_cast<double>(here.values[i]))));
        in_front[i] += static_cast<double>(here.values[i]);
      }
      if (k < lattice.first || row >= planes.stride || !is_within(c, ranges.of(lattice, place, k))) continue;
      float* const to = planes.values + planes.column(lattice, member, k, c) * planes.stride + row;
#pragma unroll
      for (int i = 0; i < Rows::count; ++i) to[i] = left[i] * unless_small(to[i], small);
    }
  }
}

}  // namespace

void queue_general_attenuation(const GeneralCamera& camera, const GeneralGroup& group, const PlaneRanges& ranges,
                               const float* mu_columns, int mu_stride, const float* least,
                               const GeneralPlanes& planes) {
  const bool is_cone = camera.lattice.beam == Beam::cone;
  const int rows_a_warp = warp_lanes * (is_cone ? FollowedRows<true>::count : FollowedRows<false>::count);
  const auto blocks = [](int size, int a_block) { return static_cast<unsigned>((size + a_block - 1) / a_block); };
  const dim3 grid(blocks(camera.lattice.columns(), follow_warps), blocks(group.rows, rows_a_warp),
                  static_cast<unsigned>(group.count));
  const auto kernel = is_cone ? attenuate_planes<true> : attenuate_planes<false>;
  kernel<<<grid, follow_threads, 0, group.stream>>>(camera, group.views, group.first, ranges, mu_columns, mu_stride,
                                                    least, planes);
  check_launch("attenuate rotated planes");
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
