// Joseph's method for one line, shared by the CPU (V = SIMD vectors) and CUDA (V = float): which
// planes the line crosses where, and the weights of the four voxels about a crossing (conventions.md, Joseph's line
// projector). Lines are prepared in double precision; a block of planes is then walked in float, relative to its first
// plane, so that accuracy does not depend on the size of the image.
#if defined(TOFSTREAM_PROJECT_JOSEPH_LINE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TOFSTREAM_PROJECT_JOSEPH_LINE_INL
#undef TOFSTREAM_PROJECT_JOSEPH_LINE_INL
#else
#define TOFSTREAM_PROJECT_JOSEPH_LINE_INL
#endif

#include "kernels/math/dominant_axis.hpp"
#include "kernels/math/lanes-inl.hpp"
#include "kernels/math/reciprocal.hpp"
#include "kernels/math/tof_bin-inl.hpp"
#include "kernels/math/whole.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/joseph/joseph_limits.hpp"
#include "kernels/types/events.hpp"

TOFSTREAM_LANES_BEGIN

/// What all lines of a projector share.
struct JosephSetup {
  Grid grid;
  Vec3d origin_mm, per_voxel;  // the grid's, and 1 / edges of a voxel
  float tof_cut_sigma;
  bool clipped;
  double inset = 0;  // voxels: crossings nearer than this to where weights end are left out

  static JosephSetup make(const Grid& grid, const JosephSettings& settings) {
    const Vec3d edges = grid.voxel_mm.as<double>();
    return {grid,
            grid.origin_mm.as<double>(),
            {1 / edges.x, 1 / edges.y, 1 / edges.z},
            settings.tof_cut_sigma,
            settings.edge == JosephSettings::Edge::clipped};
  }
};

/// A batch's lines: the projector, the events, and the ToF response that all events share.
struct JosephLines {
  JosephSetup setup;
  EventView events;
  TofKernel<float> tof;
  double per_sigma;  // 1 / mm

  static JosephLines make(const JosephSetup& setup, const EventView& events) {
    if (!events.has_tof()) return {setup, events, {}, 0};
    const float cut = setup.clipped ? joseph_no_cut : setup.tof_cut_sigma;
    return {setup, events, TofKernel<float>::make(events.tof.sigma_mm, cut),
            1 / static_cast<double>(events.tof.sigma_mm)};
  }
};

/// A quantity that changes linearly from plane to plane.
struct Along {
  double at_plane_0, step;
  TOFSTREAM_HOST_DEVICE double at(double plane) const { return at_plane_0 + plane * step; }
};

/// The planes of a line that can have weight, narrowed down condition by condition. Kept as
/// numbers that need not be whole; a NaN leaves no plane.
struct PlaneInterval {
  double low, high;
  TOFSTREAM_HOST_DEVICE void keep(double from, double to) {
    low = maximum(low, minimum(from, to));
    high = minimum(high, maximum(from, to));
  }
  /// Keeps the planes at which `quantity` lies in [from, to].
  TOFSTREAM_HOST_DEVICE void keep_where(const Along& quantity, double from, double to) {
    if (absolute(quantity.step) > 1e-12) {
      const double inverse = reciprocal(quantity.step);
      keep((from - quantity.at_plane_0) * inverse, (to - quantity.at_plane_0) * inverse);
    } else if (!(quantity.at_plane_0 >= from && quantity.at_plane_0 <= to)) {
      high = low - 1;
    }
  }
  TOFSTREAM_HOST_DEVICE bool empty() const { return !(low <= high); }
};

/// One event's line. Axis u is the first, v the second of the two axes that are not dominant.
struct JosephLine {
  int axis, u_axis, v_axis;
  int first, last;  // planes with weight; first > last: none
  Along u, v;       // voxel coordinates of the crossing
  Along offset;     // of the crossing from the ToF bin's centre along the line, in sigma
  float scale;      // what bilinear fractions (and ToF integral) are multiplied by, mm
  bool tof;
  TofBin bin;
};

/// Edge::clipped: planes p with enter < p <= leave, plane coordinates at which the line enters and
/// leaves the box of the voxels' outer faces.
TOFSTREAM_HOST_DEVICE inline PlaneInterval planes_in_box(const Grid& grid, const Vec3d& end1, const Vec3d& direction,
                                                         int axis) {
  double from = 0, to = 1;
  for (int k = 0; k < 3; ++k) {
    const double voxel = grid.voxel_mm[k];
    const double low = grid.origin_mm[k] - 0.5 * voxel, high = low + voxel * grid.size[k];
    if (direction[k] == 0) {
      if (end1[k] < low || end1[k] > high) return {1, 0};
      continue;
    }
    const double a = (low - end1[k]) / direction[k], b = (high - end1[k]) / direction[k];
    from = maximum(from, minimum(a, b));
    to = minimum(to, maximum(a, b));
  }
  if (!(from <= to)) return {1, 0};
  const double origin = grid.origin_mm[axis], voxel = grid.voxel_mm[axis];
  const double a = (end1[axis] + from * direction[axis] - origin) / voxel;
  const double b = (end1[axis] + to * direction[axis] - origin) / voxel;
  return {round_down(minimum(a, b)) + 1, round_down(maximum(a, b))};
}

/// Edge::clipped with ToF: planes from floor(-cut) to ceil(+cut) about the bin's centre; the bin's
/// weights over these planes, inside the image or not, are rescaled to sum to its width.
TOFSTREAM_HOST_DEVICE inline PlaneInterval planes_in_cut(const JosephLine& line, double cut) {
  const double inverse = 1 / line.offset.step;
  const double a = (-cut - line.offset.at_plane_0) * inverse;
  const double b = (cut - line.offset.at_plane_0) * inverse;
  constexpr double limit = joseph_plane_limit;
  return {round_down(minimum(maximum(minimum(a, b), -limit), limit)),
          -round_down(-minimum(maximum(maximum(a, b), -limit), limit))};
}

/// The sum of bin integrals over the planes of `planes`.
template <class V>
TOFSTREAM_HOST_DEVICE inline float tof_sum(const JosephLine& line, const PlaneInterval& planes, int lanes) {
  V sum = splat<V>(0.0f);
  const V lane = lane_index<V>();
  for (double plane = planes.low; plane <= planes.high; plane += lanes) {
    const V z = mul_add(lane, splat<V>(static_cast<float>(line.offset.step)),
                        splat<V>(static_cast<float>(line.offset.at(plane))));
    const auto inside = less(lane, splat<V>(static_cast<float>(planes.high - plane) + 0.5f));
    sum = sum + select(inside, bin_integral(line.bin, z), splat<V>(0.0f));
  }
  return sum_of_lanes(sum);
}

/// A vector's component along the dominant axis, and along u and v.
struct Turned {
  double along, u, v;
  TOFSTREAM_HOST_DEVICE Turned(const Vec3d& vector, int axis)
      : along(vector[axis]), u(axis == 0 ? vector.y : vector.x), v(axis == 2 ? vector.y : vector.z) {}
};

/// Prepares event i's line. V and its number of lanes serve the rescaling of Edge::clipped; without `may_clip` that
/// edge's code is left out.
template <class V, bool may_clip = true>
TOFSTREAM_HOST_DEVICE inline JosephLine prepare_line(const JosephLines& lines, std::int64_t i, int lanes) {
  const JosephSetup& setup = lines.setup;
  const bool clipped = may_clip && setup.clipped;
  const EventView& events = lines.events;
  const Grid& grid = setup.grid;
  const Lor lor = events.lor(i);
  const Vec3d end1 = lor.end1.as<double>(), direction = lor.end2.as<double>() - end1;
  JosephLine line{};
  line.first = 0;
  line.last = -1;
  const double length = square_root(dot(direction, direction));
  if (!(length > 0 && length <= 1e40)) return line;  // floats reach 1.2e39

  line.axis = dominant_axis<EqualAxes::y_z_x>(direction);
  line.u_axis = line.axis == 0 ? 1 : 0;
  line.v_axis = line.axis == 2 ? 1 : 2;
  const Turned from_origin(end1 - setup.origin_mm, line.axis), way(direction, line.axis);
  const Turned per_voxel(setup.per_voxel, line.axis);
  const double inverse = reciprocal(way.along);
  const double spacing = grid.voxel_mm[line.axis];
  // Fraction of the way from end 1 to end 2, in [0, 1] at planes between the ends.
  const Along fraction{-from_origin.along * inverse, spacing * inverse};
  const auto coordinate = [&](double start, double step, double voxels_a_mm) {
    return Along{(start + step * fraction.at_plane_0) * voxels_a_mm, step * fraction.step * voxels_a_mm};
  };
  line.u = coordinate(from_origin.u, way.u, per_voxel.u);
  line.v = coordinate(from_origin.v, way.v, per_voxel.v);
  line.scale = static_cast<float>(spacing * length * absolute(inverse));

  PlaneInterval planes{0, grid.size[line.axis] - 1.0};
  planes.keep_where(line.u, -1 + setup.inset, grid.size[line.u_axis] - setup.inset);
  planes.keep_where(line.v, -1 + setup.inset, grid.size[line.v_axis] - setup.inset);
  if (clipped) {
    const PlaneInterval box = planes_in_box(grid, end1, direction, line.axis);
    planes.low = maximum(planes.low, box.low);
    planes.high = minimum(planes.high, box.high);
  } else {
    const auto plane_of = [&](double mm) { return quotient(mm, spacing, per_voxel.along); };
    planes.keep(plane_of(from_origin.along), plane_of(from_origin.along + way.along));
  }
  if (planes.empty()) return line;

  line.tof = events.has_tof();
  if (line.tof) {
    const float width = events.bin_width_mm(i);
    line.offset = {((fraction.at_plane_0 - 0.5) * length - lor.tof_mm) * lines.per_sigma,
                   fraction.step * length * lines.per_sigma};
    line.bin = TofBin::make(lines.tof, width);
    if (clipped) {
      const PlaneInterval in_cut = planes_in_cut(line, setup.tof_cut_sigma);
      const float sum = tof_sum<V>(line, in_cut, lanes);
      if (!(sum > 0)) return line;
      line.scale = width / sum;
      planes.low = maximum(planes.low, in_cut.low);
      planes.high = minimum(planes.high, in_cut.high);
    } else {
      const double reach = static_cast<double>(line.bin.cut) + static_cast<double>(line.bin.half_width);
      planes.keep_where(line.offset, -reach, reach);
    }
    if (planes.empty() || !(absolute(line.offset.at_plane_0) < 1e30)) return line;
  }
  line.first = whole_above(planes.low);
  line.last = whole_below(planes.high);
  return line;
}

/// How a line moves along one axis within a block of planes, in float relative to voxel `base`.
struct AxisBlock {
  float base, start, step, last;  // last: greatest index that the nearer voxel may have
  float far;                      // 1, or 0 where the image has but one voxel along the axis

  TOFSTREAM_HOST_DEVICE static AxisBlock make(const Along& coordinate, int plane, int size) {
    const double start = coordinate.at(plane), base = round_down(start);
    return {static_cast<float>(base), static_cast<float>(start - base), static_cast<float>(coordinate.step),
            static_cast<float>(size > 1 ? size - 2 : 0), size > 1 ? 1.0f : 0.0f};
  }
};

/// Linear interpolation along one axis: voxels `index` and `index` + 1 (both in the image where it
/// has two) with their fractions. Just outside the image the fraction of the border voxel remains.
template <class V>
struct Linear {
  V index, near, far;
};
template <class V>
TOFSTREAM_HOST_DEVICE inline Linear<V> interpolate(const AxisBlock& axis, V plane) {
  const V zero = splat<V>(0.0f), one = splat<V>(1.0f), base = splat<V>(axis.base);
  const V position = mul_add(plane, splat<V>(axis.step), splat<V>(axis.start));
  const V index = minimum(maximum(round_down(position) + base, zero), splat<V>(axis.last));
  const V distance = position - (index - base);
  return {index, maximum(one - absolute(distance), zero),
          maximum(one - absolute(distance - one), zero) * splat<V>(axis.far)};
}

/// Planes `first`, `first` + 1, ... of a line, to be walked in float.
struct JosephBlock {
  static constexpr int planes = 16;
  AxisBlock u, v;
  float offset, offset_step;

  TOFSTREAM_HOST_DEVICE static JosephBlock make(const Grid& grid, const JosephLine& line, int first) {
    return {AxisBlock::make(line.u, first, grid.size[line.u_axis]),
            AxisBlock::make(line.v, first, grid.size[line.v_axis]), static_cast<float>(line.offset.at(first)),
            static_cast<float>(line.offset.step)};
  }
};

/// The four voxels about the crossing of plane `first` + `plane` of a block: indices of the first
/// along u and v, weights in the order (u, v), (u + 1, v), (u, v + 1), (u + 1, v + 1).
template <class V>
struct Crossing {
  V u, v;
  V weight[4];
};
template <class V>
TOFSTREAM_HOST_DEVICE inline Crossing<V> cross(const JosephLine& line, const JosephBlock& block, V plane) {
  const Linear<V> u = interpolate(block.u, plane), v = interpolate(block.v, plane);
  V scale = splat<V>(line.scale);
  if (line.tof)
    scale = scale * bin_integral(line.bin, mul_add(plane, splat<V>(block.offset_step), splat<V>(block.offset)));
  const V near = v.near * scale, far = v.far * scale;
  return {u.index, v.index, {u.near * near, u.far * near, u.near * far, u.far * far}};
}

TOFSTREAM_LANES_END

#endif  // TOFSTREAM_PROJECT_JOSEPH_LINE_INL
// SPDX-License-Identifier: Apache-2.0
