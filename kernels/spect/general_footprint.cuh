// The weights between lattice points and voxels, as footprint.hpp has them, computed where they are needed: A and A^T
// call one function with the same arguments. What could have a weight is searched by the lanes of a warp together.
#pragma once

#include "kernels/spect/general_cuda.cuh"

namespace tofstream::spect {

constexpr int warp_lanes = 32;
constexpr unsigned all_lanes = ~0u;

/// Linear interpolation's weight of a sample at `distance` samples.
__device__ inline double tent(double distance) {
  return fmax(0.0, 1 - fabs(distance));
}

/// The whole numbers in an open interval, within [0, size). What rounding could leave out is let in: their weight
/// decides.
struct OpenInterval {
  int begin, count;
  __device__ OpenInterval(double middle, double reach, int size) {
    constexpr double slack = 1e-6;
    begin = max(0, static_cast<int>(floor(middle - reach - slack)) + 1);
    count = max(0, min(size, static_cast<int>(ceil(middle + reach + slack))) - begin);
  }
};

/// One view's weights across the axis.
template <Footprint kind>
struct FootprintOf {
  static constexpr bool interpolates = kind == Footprint::interpolating;
  const ViewLattice& lattice;
  const ColumnGrid& grid;
  LatticeView look;
  double edge_x, edge_y;  // of voxels, mm

  __device__ FootprintOf(const GeneralCamera& camera, int place)
      : lattice(camera.lattice),
        grid(camera.image),
        look(camera.looks[place]),
        edge_x(camera.image_edges.x),
        edge_y(camera.image_edges.y) {}

  __device__ bool has_plane(int k) const {
    return k >= lattice.first && k <= lattice.last && look.depth_mm(lattice, k) > 0;
  }
  /// Where a lattice point lies, in voxels.
  __device__ double2 voxel_at(int k, int c) const {
    const AcrossAxis at = turned(look, lattice.n_mm(k), look.centre_u_mm + look.scale_u(lattice, k) * lattice.u_mm(c));
    return {snapped(grid.x_of(at.x)), snapped(grid.y_of(at.y))};
  }
  /// Where a voxel lies: towards the camera and along u, mm.
  __device__ double2 voxel_mm(int x, int y) const {
    const double x_mm = grid.origin_x + x * edge_x, y_mm = grid.origin_y + y * edge_y;
    return {x_mm * look.sin + y_mm * look.cos, y_mm * look.sin - x_mm * look.cos};
  }
  __device__ double plane_of(double n_mm) const { return snapped(lattice.middle_plane() - n_mm / lattice.step); }
  __device__ double column_of(double u_mm, double scale) const {
    return snapped((u_mm - look.centre_u_mm) / (scale * lattice.pu) + lattice.middle_column());
  }

  /// The weight of a voxel of the image at a point in a plane before the collimator's face.
  __device__ float weight(int k, int c, int x, int y) const {
    if constexpr (interpolates) {
      const double2 at = voxel_at(k, c);
      return static_cast<float>(tent(at.x - x) * tent(at.y - y));
    } else {
      const double2 mm = voxel_mm(x, y);
      const double in_depth = tent(plane_of(mm.x) - k);
      if (in_depth == 0) return 0;
      const double scale = look.scale_u(lattice, k);
      const double across = tent(column_of(mm.y, scale) - c);
      const double gain = kind == Footprint::conserving ? 1 / (scale * look.scale_w(lattice, k)) : 1;
      return static_cast<float>(in_depth * gain * across);
    }
  }
};

/// What has a weight: a column of voxels, or a lattice point of a view, number (k - first) * columns + c.
struct GeneralTap {
  std::int32_t of = 0;
  float weight = 0;
};

/// The columns of voxels of a lattice point.
template <Footprint kind>
class VoxelsOfPoint {
 public:
  __device__ VoxelsOfPoint(const FootprintOf<kind>& footprint, int k, int c)
      : footprint_(footprint),
        k_(k),
        c_(c),
        x_(interval(footprint, k, c, true)),
        y_(interval(footprint, k, c, false)) {}
  __device__ int count() const { return footprint_.has_plane(k_) ? x_.count * y_.count : 0; }
  __device__ GeneralTap tap(int i) const {
    const int x = x_.begin + i % x_.count, y = y_.begin + i / x_.count;
    if (!footprint_.grid.has_image(x, y)) return {};
    return {footprint_.grid.column(x, y), footprint_.weight(k_, c_, x, y)};
  }

 private:
  __device__ static OpenInterval interval(const FootprintOf<kind>& f, int k, int c, bool along_x) {
    const double2 at = f.voxel_at(k, c);
    double reach = 1;
    if constexpr (!FootprintOf<kind>::interpolates) {
      const double column = f.look.scale_u(f.lattice, k) * f.lattice.pu;
      const double sine = fabs(f.look.sin), cosine = fabs(f.look.cos);
      reach = along_x ? (f.lattice.step * sine + column * cosine) * f.grid.per_x
                      : (f.lattice.step * cosine + column * sine) * f.grid.per_y;
    }
    return along_x ? OpenInterval(at.x, reach, f.grid.nx) : OpenInterval(at.y, reach, f.grid.ny);
  }

  const FootprintOf<kind>& footprint_;
  int k_, c_;
  OpenInterval x_, y_;
};

/// The lattice points of a view that a column of voxels has a weight in.
template <Footprint kind>
class PointsOfVoxel {
 public:
  __device__ PointsOfVoxel(const FootprintOf<kind>& footprint, const PlaneRanges& ranges, int place, int columns, int x,
                           int y)
      : footprint_(footprint),
        ranges_(ranges),
        place_(place),
        columns_(columns),
        x_(x),
        y_(y),
        mm_(footprint.voxel_mm(x, y)),
        planes_(footprint.plane_of(mm_.x), plane_reach(footprint), footprint.lattice.last + 1),
        reach_(column_reach(footprint)),
        columns_a_plane_(most_columns(footprint, reach_, planes_)) {}
  __device__ int count() const { return planes_.count * columns_a_plane_; }
  __device__ GeneralTap tap(int i) const {
    const int k = planes_.begin + i / columns_a_plane_;
    if (!footprint_.has_plane(k)) return {};
    const double scale = footprint_.look.scale_u(footprint_.lattice, k);
    const double reach = FootprintOf<kind>::interpolates ? reach_ / scale : reach_;
    const OpenInterval columns(footprint_.column_of(mm_.y, scale), reach, footprint_.lattice.columns());
    const int c = columns.begin + i % columns_a_plane_;
    if (i % columns_a_plane_ >= columns.count || !is_within(c, ranges_.of(footprint_.lattice, place_, k))) return {};
    return {(k - footprint_.lattice.first) * columns_ + c, footprint_.weight(k, c, x_, y_)};
  }

 private:
  __device__ static double plane_reach(const FootprintOf<kind>& f) {
    if constexpr (!FootprintOf<kind>::interpolates) return 1;
    return (f.edge_x * fabs(f.look.sin) + f.edge_y * fabs(f.look.cos)) / f.lattice.step;
  }
  /// On the collimator's face, where points are interpolated at.
  __device__ static double column_reach(const FootprintOf<kind>& f) {
    if constexpr (!FootprintOf<kind>::interpolates) return 1;
    return (f.edge_x * fabs(f.look.cos) + f.edge_y * fabs(f.look.sin)) / f.lattice.pu;
  }
  /// In the farthest plane, where the beam is narrowest: as many whole numbers as OpenInterval can find.
  __device__ static int most_columns(const FootprintOf<kind>& f, double reach, const OpenInterval& planes) {
    if constexpr (!FootprintOf<kind>::interpolates) return 3;
    const int farthest = min(planes.begin + max(planes.count - 1, 0), f.lattice.last);
    constexpr double slack = 1e-5;
    return static_cast<int>(ceil(2 * reach / f.look.scale_u(f.lattice, farthest) + slack)) + 1;
  }

  const FootprintOf<kind>& footprint_;
  const PlaneRanges& ranges_;
  int place_, columns_, x_, y_;
  double2 mm_;
  OpenInterval planes_;
  double reach_;
  int columns_a_plane_;
};

/// Taps whose numbers are read together. Behind the last one there are repetitions of the first, of weight 0.
struct FoundTaps {
  static constexpr int count = 4;
  GeneralTap taps[count];
  int lanes[count];  // whose they are
};

/// Calls visit(FoundTaps) in all lanes until it has had all taps that the lanes `found` have, in their order.
template <class Visit>
__device__ void for_each_found(const GeneralTap& mine, unsigned found, Visit&& visit) {
  while (found != 0) {
    FoundTaps some;
#pragma unroll
    for (int i = 0; i < FoundTaps::count; ++i, found &= found - 1) {
      const bool is_one = found != 0;
      some.lanes[i] = is_one ? __ffs(static_cast<int>(found)) - 1 : some.lanes[0];
      const float weight = __shfl_sync(all_lanes, mine.weight, some.lanes[i]);
      some.taps[i] = {__shfl_sync(all_lanes, mine.of, some.lanes[i]), is_one ? weight : 0};
    }
    visit(some);
  }
}

/// Calls visit(FoundTaps) for the taps of a search, in all lanes of a warp, which search for the same.
template <class Search, class Visit>
__device__ void for_each_tap(const Search& search, Visit&& visit) {
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes, count = search.count();
  for (int begin = 0; begin < count; begin += warp_lanes) {
    const GeneralTap mine = begin + lane < count ? search.tap(begin + lane) : GeneralTap{};
    for_each_found(mine, __ballot_sync(all_lanes, mine.weight != 0), visit);
  }
}

/// One plane's weights along w.
struct RowFootprint {
  double centre, scale, pw, middle;  // of the lattice's rows, mm and rows
  GeneralRows z;
  int rows;
  bool interpolates;

  __device__ RowFootprint(const ViewLattice& lattice, const LatticeView& look, int k, const GeneralRows& voxels,
                          bool at_rows)
      : centre(look.centre_w_mm),
        scale(look.scale_w(lattice, k)),
        pw(lattice.pw),
        middle(lattice.middle_row()),
        z(voxels),
        rows(lattice.rows()),
        interpolates(at_rows) {}

  __device__ double z_of(int row) const {
    return snapped((centre + scale * ((row - middle) * pw) - z.origin) / z.edge);
  }
  __device__ double row_of(int voxel) const {
    return snapped((z.origin + voxel * z.edge - centre) / (scale * pw) + middle);
  }
  __device__ float weight(int row, int voxel) const {
    return static_cast<float>(interpolates ? tent(z_of(row) - voxel) : tent(row_of(voxel) - row));
  }
  __device__ OpenInterval voxels_of(int row) const {
    return {z_of(row), interpolates ? 1 : scale * pw / z.edge, z.size};
  }
  __device__ OpenInterval rows_of(int voxel) const {
    return {row_of(voxel), interpolates ? z.edge / (scale * pw) : 1, rows};
  }
};

/// Numbers smaller than `least` are rounding (GeneralBlur::back).
__device__ inline float unless_small(float value, float least) {
  return fabsf(value) < least ? 0.0f : value;
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
