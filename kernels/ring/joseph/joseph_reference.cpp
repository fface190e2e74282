// Joseph's projector in double precision, written for clarity: planes through the voxel centres
// across the line's dominant axis, bilinear interpolation in each, ToF as the integral over the
// bin. Both edge rules of conventions.md, Joseph's line projector.
#include <algorithm>
#include <cmath>

#include "kernels/math/dominant_axis.hpp"
#include "kernels/math/tof.hpp"
#include "kernels/project/reference.hpp"
#include "kernels/ring/joseph/joseph_backends.hpp"
#include "kernels/ring/joseph/joseph_limits.hpp"

namespace tofstream {

namespace {

class JosephReference final : public ReferenceProjector {
 public:
  JosephReference(const Grid& grid, const JosephSettings& settings) : ReferenceProjector(grid), settings_(settings) {}

  float reach_mm() const override { return joseph_reach_mm(grid()); }

  void for_each_voxel(const EventView& events, std::int64_t i, const Visit& visit) const override {
    const Lor lor = events.lor(i);
    const Line line = line_of(lor);
    if (!(line.length > 0 && std::isfinite(line.length))) return;
    const double width = static_cast<double>(events.bin_width_mm(i));
    const double sigma = static_cast<double>(events.tof.sigma_mm);
    const double tof = static_cast<double>(lor.tof_mm);
    if (events.has_tof() && !std::isfinite(tof)) return;

    const bool clipped = settings_.edge == JosephSettings::Edge::clipped;
    const double cut = static_cast<double>(settings_.tof_cut_sigma);
    const auto weight = [&](int plane) {
      if (!events.has_tof()) return line.step;
      const double offset = line.position(plane) - tof;
      if (clipped) return TofKernel<double>::make(sigma, joseph_no_cut).bin_integral(offset, width);
      return line.step * TofKernel<double>::make(sigma, cut).bin_integral(offset, width);
    };

    PlaneRange range = clipped ? planes_in_box(line) : planes_between_ends(line);
    double scale = 1;
    if (clipped && events.has_tof()) {
      const PlaneRange in_cut = planes_in_cut(line, tof, cut * sigma);
      double sum = 0;
      for (int plane = in_cut.first; plane <= in_cut.last; ++plane) sum += weight(plane);
      if (!(sum > 0)) return;
      scale = width / sum;
      range = {std::max(range.first, in_cut.first), std::min(range.last, in_cut.last)};
    }
    for (int plane = range.first; plane <= range.last; ++plane) visit_plane(line, plane, scale * weight(plane), visit);
  }

 private:
  struct Line {
    Vec3d end1, end2;
    double length;
    int axis;              // dominant
    double first_plane;    // coordinate of plane 0 on the dominant axis
    double plane_spacing;  // mm
    double step;           // length of line between two planes, mm

    double fraction(double coordinate) const { return (coordinate - end1[axis]) / (end2[axis] - end1[axis]); }
    double crossing(int plane) const { return fraction(first_plane + plane * plane_spacing); }
    /// Position of a plane's crossing along the line, from the midpoint towards end 2.
    double position(int plane) const { return (crossing(plane) - 0.5) * length; }
    Vec3d point(double t) const { return end1 + t * (end2 - end1); }
    /// Where a point lies along the dominant axis, counted in planes.
    double plane_coordinate(const Vec3d& p) const { return (p[axis] - first_plane) / plane_spacing; }
  };
  struct PlaneRange {
    int first = 0, last = -1;
  };

  Line line_of(const Lor& lor) const {
    Line line;
    line.end1 = lor.end1.as<double>();
    line.end2 = lor.end2.as<double>();
    const Vec3d direction = line.end2 - line.end1;
    line.length = norm(direction);
    line.axis = dominant_axis<EqualAxes::y_z_x>(direction);
    line.first_plane = static_cast<double>(grid().origin_mm[line.axis]);
    line.plane_spacing = static_cast<double>(grid().voxel_mm[line.axis]);
    line.step = line.plane_spacing * line.length / std::abs(direction[line.axis]);
    return line;
  }

  PlaneRange planes_between_ends(const Line& line) const {
    const double p1 = line.plane_coordinate(line.end1), p2 = line.plane_coordinate(line.end2);
    PlaneRange range{grid().size[line.axis], -1};
    for (int plane = 0; plane < grid().size[line.axis]; ++plane) {
      if (plane < std::min(p1, p2) || plane > std::max(p1, p2)) continue;
      range.first = std::min(range.first, plane);
      range.last = std::max(range.last, plane);
    }
    return range;
  }

  /// Planes p with low < p <= high, where low and high are the plane coordinates at which the line
  /// enters and leaves the box of the voxels' outer faces (or ends).
  PlaneRange planes_in_box(const Line& line) const {
    double from = 0, to = 1;
    for (int axis = 0; axis < 3; ++axis) {
      const double voxel = static_cast<double>(grid().voxel_mm[axis]);
      const double low = static_cast<double>(grid().origin_mm[axis]) - 0.5 * voxel;
      const double high = low + voxel * grid().size[axis];
      const double start = line.end1[axis], step = line.end2[axis] - start;
      if (step == 0) {
        if (start < low || start > high) return {};
        continue;
      }
      const auto [enter, leave] = std::minmax({(low - start) / step, (high - start) / step});
      from = std::max(from, enter);
      to = std::min(to, leave);
    }
    if (from > to) return {};
    const auto [low, high] =
        std::minmax({line.plane_coordinate(line.point(from)), line.plane_coordinate(line.point(to))});
    return {std::max(static_cast<int>(std::floor(low)) + 1, 0),
            std::min(static_cast<int>(std::floor(high)), grid().size[line.axis] - 1)};
  }

  /// Planes from floor(-cut) to ceil(+cut) about the bin's centre, in the image or not.
  static PlaneRange planes_in_cut(const Line& line, double tof, double cut_mm) {
    const double centre = line.plane_coordinate(line.point(0.5 + tof / line.length));
    const double reach = cut_mm / line.step;
    constexpr double limit = joseph_plane_limit;
    return {static_cast<int>(std::floor(std::clamp(centre - reach, -limit, limit))),
            static_cast<int>(std::ceil(std::clamp(centre + reach, -limit, limit)))};
  }

  /// Hands out the (up to) four voxels about the line's crossing of a plane.
  void visit_plane(const Line& line, int plane, double weight, const Visit& visit) const {
    if (!(weight > 0)) return;
    const int u_axis = line.axis == 0 ? 1 : 0, v_axis = line.axis == 2 ? 1 : 2;
    const Vec3d point = line.point(line.crossing(plane));
    const auto voxel_coordinate = [&](int axis) {
      return (point[axis] - static_cast<double>(grid().origin_mm[axis])) / static_cast<double>(grid().voxel_mm[axis]);
    };
    const double u = voxel_coordinate(u_axis), v = voxel_coordinate(v_axis);
    if (!(u > -1 && u < grid().size[u_axis] && v > -1 && v < grid().size[v_axis])) return;
    const int u0 = static_cast<int>(std::floor(u)), v0 = static_cast<int>(std::floor(v));
    for (int iv = std::max(v0, 0); iv <= std::min(v0 + 1, grid().size[v_axis] - 1); ++iv) {
      for (int iu = std::max(u0, 0); iu <= std::min(u0 + 1, grid().size[u_axis] - 1); ++iu) {
        const double fractions = (1 - std::abs(u - iu)) * (1 - std::abs(v - iv));
        visit(plane * grid().stride(line.axis) + iu * grid().stride(u_axis) + iv * grid().stride(v_axis),
              weight * fractions);
      }
    }
  }

  JosephSettings settings_;
};

}  // namespace

std::unique_ptr<ReferenceProjector> make_joseph_reference(const Grid& grid, const JosephSettings& settings) {
  validate(settings);
  return std::make_unique<JosephReference>(grid, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
