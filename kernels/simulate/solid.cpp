// Solids by their unit shapes: see solid.hpp.
#include "kernels/simulate/solid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/types/rigid_pose.hpp"

namespace tofstream {
namespace {

constexpr double everywhere = std::numeric_limits<double>::infinity();
constexpr double radians_per_degree = std::numbers::pi / 180;

bool finite(Vec3d v) {
  return std::isfinite(v.x) && std::isfinite(v.y) && std::isfinite(v.z);
}

Vec3d rotated(Vec3d v, Vec3d degrees) {
  const auto turn = [](double& a, double& b, double angle) {
    const double c = std::cos(angle), s = std::sin(angle), old = a;
    a = c * a - s * b;
    b = s * old + c * b;
  };
  turn(v.y, v.z, degrees.x * radians_per_degree);
  turn(v.z, v.x, degrees.y * radians_per_degree);
  turn(v.x, v.y, degrees.z * radians_per_degree);
  return v;
}

Interval overlap(Interval a, Interval b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// t with -1 <= o + t d <= 1.
Interval in_slab(double o, double d) {
  if (d == 0) return std::abs(o) <= 1 ? Interval{-everywhere, everywhere} : Interval{};
  const double inverse = 1 / d, a = (-1 - o) * inverse, b = (1 - o) * inverse;
  return {std::min(a, b), std::max(a, b)};
}

/// t with a t^2 + 2 b t + c <= 0, for a >= 0.
Interval below_zero(double a, double b, double c) {
  if (a == 0) return c <= 0 ? Interval{-everywhere, everywhere} : Interval{};
  const double discriminant = b * b - a * c;
  if (discriminant <= 0) return {};
  const double root = std::sqrt(discriminant), inverse = 1 / a;
  return {(-b - root) * inverse, (-b + root) * inverse};
}

}  // namespace

Solid::Solid(Shape shape, Vec3d centre_mm, Vec3d half_axes_mm, Vec3d rotation_deg, Vec3d half)
    : shape_(shape), halved_(half != Vec3d{}), centre_(centre_mm) {
  if (!finite(centre_mm) || !finite(half_axes_mm) || !finite(rotation_deg) || !finite(half) || half_axes_mm.x <= 0 ||
      half_axes_mm.y <= 0 || half_axes_mm.z <= 0)
    throw std::invalid_argument("a solid needs a finite place and positive finite sizes");
  for (int k = 0; k < 3; ++k) {
    Vec3d axis;
    axis.set(k, 1);
    axis = rotated(axis, rotation_deg);
    scaled_axes_[k] = half_axes_mm[k] * axis;
    inverse_[k] = (1 / half_axes_mm[k]) * axis;
    unit_half_.set(k, dot(half, scaled_axes_[k]));
  }
}

double Solid::volume_mm3() const {
  const double block = half_axis_mm(0) * half_axis_mm(1) * half_axis_mm(2);
  const double whole = shape_ == Shape::ellipsoid  ? 4.0 / 3 * std::numbers::pi * block
                       : shape_ == Shape::cylinder ? 2 * std::numbers::pi * block
                                                   : 8 * block;
  return halved_ ? 0.5 * whole : whole;  // every shape is symmetric about its centre
}

double Solid::extent(Vec3d direction) const {
  const Vec3d along{dot(direction, scaled_axes_[0]), dot(direction, scaled_axes_[1]), dot(direction, scaled_axes_[2])};
  if (shape_ == Shape::ellipsoid) return norm(along);
  if (shape_ == Shape::cylinder) return std::hypot(along.x, along.y) + std::abs(along.z);
  return std::abs(along.x) + std::abs(along.y) + std::abs(along.z);
}

Solid Solid::moved(const RigidPose& pose) const {
  const RigidPose turn{pose.rotation, {}};
  Solid result = *this;
  result.centre_ = pose(centre_);
  for (int k = 0; k < 3; ++k) {
    result.scaled_axes_[k] = turn(scaled_axes_[k]);
    result.inverse_[k] = turn(inverse_[k]);  // rows along the axes
  }
  return result;
}

Solid Solid::grown(double margin_mm) const {
  Solid result = *this;
  result.activity_Bq_mL.reset();
  result.mu_per_cm.reset();
  result.halved_ = false;
  // Half axes that are longer by the margin hold all points within it of a cube and of a round cylinder or ball. An
  // oblate ball would need more, and gets its box.
  const auto alike = [&](int a, int b) { return std::abs(half_axis_mm(a) / half_axis_mm(b) - 1) < 1e-9; };
  const bool round = alike(0, 1) && (shape_ == Shape::cylinder || alike(1, 2));
  if (!round) result.shape_ = Shape::box;
  for (int k = 0; k < 3; ++k) {
    const double before = half_axis_mm(k), factor = (before + margin_mm) / before;
    result.scaled_axes_[k] = factor * scaled_axes_[k];
    result.inverse_[k] = (1 / factor) * inverse_[k];
  }
  return result;
}

Box3 Solid::bounds() const {
  const Vec3d reach{extent({1, 0, 0}), extent({0, 1, 0}), extent({0, 0, 1})};
  return {centre_ - reach, centre_ + reach};
}

Interval Solid::intersect(Vec3d origin_mm, Vec3d direction) const {
  const Vec3d o = to_unit(origin_mm - centre_), d = to_unit(direction);
  Interval inside;
  if (shape_ == Shape::ellipsoid) {
    inside = below_zero(dot(d, d), dot(o, d), dot(o, o) - 1);
  } else {
    inside = shape_ == Shape::cylinder
                 ? below_zero(d.x * d.x + d.y * d.y, o.x * d.x + o.y * d.y, o.x * o.x + o.y * o.y - 1)
                 : overlap(in_slab(o.x, d.x), in_slab(o.y, d.y));
    if (!inside.empty()) inside = overlap(inside, in_slab(o.z, d.z));
  }
  if (halved_ && !inside.empty()) {
    const double slope = dot(unit_half_, d), level = dot(unit_half_, o);
    if (slope > 0)
      inside.begin = std::max(inside.begin, -level / slope);
    else if (slope < 0)
      inside.end = std::min(inside.end, -level / slope);
    else if (level < 0)
      inside = {};
  }
  return inside;
}

std::vector<Solid> rods_of(const RodSector& sector, Vec3d centre_mm, double half_length_mm) {
  const double radius = 0.5 * sector.diameter_mm;
  if (!(sector.diameter_mm > 0 && sector.spacing_mm >= sector.diameter_mm && sector.inner_mm >= 0 &&
        sector.radius_mm > sector.inner_mm && sector.width_deg > 0 && sector.width_deg <= 180 &&
        std::isfinite(sector.radius_mm) && std::isfinite(sector.angle_deg)))
    throw std::invalid_argument(
        "rods need a positive diameter, a spacing no smaller, inner below outer radius and a width "
        "within 180 degrees");
  if (sector.radius_mm / sector.spacing_mm > 100)
    throw std::invalid_argument(
        fmt::format("rods of {} mm would fill the sector with more than 10000", sector.diameter_mm));
  // Rows of 1, 2, 3 ... rods across the sector. Centres keep half a spacing from its edges, so that
  // rods of neighbouring sectors are as far apart as rods of one.
  const double half_width = 0.5 * sector.width_deg * radians_per_degree;
  const double row_step = sector.spacing_mm * std::sqrt(0.75);
  const double clear = 0.5 * sector.spacing_mm;
  const double first = std::max(clear / std::sin(half_width), sector.inner_mm + radius);
  std::vector<Solid> rods;
  for (int row = 0; first + row * row_step <= sector.radius_mm; ++row) {
    const double along = first + row * row_step;
    for (int place = 0; place <= row; ++place) {
      const double across = (place - 0.5 * row) * sector.spacing_mm;
      if (std::hypot(along, across) + radius > sector.radius_mm) continue;
      const double to_edge = along * std::sin(half_width) - std::abs(across) * std::cos(half_width);
      if (to_edge < clear * (1 - 1e-9)) continue;
      const Vec3d offset = rotated({along, across, 0}, {0, 0, sector.angle_deg});
      rods.emplace_back(Shape::cylinder, centre_mm + offset, Vec3d{radius, radius, half_length_mm});
    }
  }
  return rods;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
