// Overlaps, line integrals and images of phantoms: see phantom.hpp.
#include "kernels/simulate/phantom.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <utility>

#include <boost/container/small_vector.hpp>
#include <fmt/format.h>
#include <tbb/blocked_range2d.h>
#include <tbb/parallel_for.h>

#include "kernels/math/units.hpp"
#include "kernels/simulate/random.hpp"

namespace tofstream {
namespace {

/// Adds a stretch to a union of disjoint ones; returns the length that was not covered before.
double cover(boost::container::small_vector<Interval, 16>& covered, Interval added) {
  double fresh = added.length();
  auto kept = covered.begin();
  Interval merged = added;
  for (const Interval& old : covered) {
    const double shared = std::min(old.end, added.end) - std::max(old.begin, added.begin);
    if (shared <= 0) {
      *kept++ = old;
      continue;
    }
    fresh -= shared;
    merged = {std::min(merged.begin, old.begin), std::max(merged.end, old.end)};
  }
  covered.erase(kept, covered.end());
  covered.push_back(merged);
  return fresh;
}

}  // namespace

Phantom::Phantom(std::string name, std::vector<Solid> solids)
    : name_(std::move(name)), solids_(std::move(solids)), active_over_(solids_.size()) {
  const auto add = [&](Layer& layer, std::size_t i, double value, const char* what) {
    if (!(value >= 0 && std::isfinite(value)))
      throw std::invalid_argument(
          fmt::format("phantom {}: solid {} ('{}') has {} {}; it must be finite and not negative", name_, i + 1,
                      solids_[i].name, what, value));
    layer.solids.push_back(i);
    layer.values.push_back(value);
  };
  for (std::size_t i = 0; i < solids_.size(); ++i) {
    if (solids_[i].activity_Bq_mL) add(activity_, i, *solids_[i].activity_Bq_mL, "activity");
    if (solids_[i].mu_per_cm) add(mu_, i, *solids_[i].mu_per_cm, "mu");
  }
  for (std::size_t i = 0; i < solids_.size(); ++i)
    for (const std::size_t above : activity_.solids)
      if (above > i && solids_[above].bounds().intersects(solids_[i].bounds())) active_over_[i].push_back(above);
}

double Phantom::value_at(const Layer& layer, Vec3d point_mm) const {
  for (std::size_t k = layer.solids.size(); k-- > 0;)
    if (solids_[layer.solids[k]].contains(point_mm)) return layer.values[k];
  return 0;
}

Phantom Phantom::moved(const RigidPose& pose) const {
  std::vector<Solid> solids;
  for (const Solid& solid : solids_) solids.push_back(solid.moved(pose));
  return {name_, std::move(solids)};
}

Phantom Phantom::with_activities(const std::vector<double>& factors) const {
  if (factors.size() != solids_.size())
    throw std::invalid_argument(
        fmt::format("phantom {}: {} factors for {} solids", name_, factors.size(), solids_.size()));
  std::vector<Solid> solids = solids_;
  for (std::size_t i = 0; i < solids.size(); ++i)
    if (solids[i].activity_Bq_mL) *solids[i].activity_Bq_mL *= factors[i];
  return {name_, std::move(solids)};
}

double Phantom::activity_at(Vec3d point_mm) const {
  return value_at(activity_, point_mm);
}
double Phantom::mu_at(Vec3d point_mm) const {
  return value_at(mu_, point_mm);
}

Box3 Phantom::bounds() const {
  if (solids_.empty()) return {};
  Box3 all = solids_[0].bounds();
  for (const Solid& solid : solids_) {
    const Box3 box = solid.bounds();
    for (int axis = 0; axis < 3; ++axis) {
      all.low.set(axis, std::min(all.low[axis], box.low[axis]));
      all.high.set(axis, std::max(all.high[axis], box.high[axis]));
    }
  }
  return all;
}

double Phantom::transaxial_radius_mm() const {
  constexpr int directions = 128;  // a point seen within half a step: 1 / cos(pi / 128) = 1.0003
  double radius = 0;
  for (const Solid& solid : solids_)
    for (int k = 0; k < directions; ++k) {
      const double angle = 2 * std::numbers::pi * k / directions;
      const Vec3d n{std::cos(angle), std::sin(angle), 0};
      radius = std::max(radius, dot(n, solid.centre_mm()) + solid.extent(n));
    }
  return radius / std::cos(std::numbers::pi / directions);
}

double Phantom::integral(const Layer& layer, Vec3d origin, Vec3d direction, Interval limits) const {
  boost::container::small_vector<Interval, 16> covered;
  double sum = 0;
  for (std::size_t k = layer.solids.size(); k-- > 0;) {
    Interval hit = solids_[layer.solids[k]].intersect(origin, direction);
    hit = {std::max(hit.begin, limits.begin), std::min(hit.end, limits.end)};
    if (!hit.empty()) sum += layer.values[k] * cover(covered, hit);
  }
  return sum;
}

double Phantom::attenuation(Vec3d from_mm, Vec3d to_mm) const {
  const Vec3d along = to_mm - from_mm;
  return 0.1 * norm(along) * integral(mu_, from_mm, along, {0, 1});
}

double Phantom::activity_integral(Vec3d from_mm, Vec3d to_mm) const {
  const Vec3d along = to_mm - from_mm;
  return norm(along) * integral(activity_, from_mm, along, {0, 1});
}

double Phantom::line_attenuation(Vec3d point_mm, Vec3d direction) const {
  constexpr double everywhere = std::numeric_limits<double>::infinity();
  return 0.1 * integral(mu_, point_mm, direction, {-everywhere, everywhere});
}

double Phantom::total_activity_Bq() const {
  constexpr int points = 1 << 18;
  double sum = 0;
  for (std::size_t k = 0; k < activity_.solids.size(); ++k) {
    const std::size_t i = activity_.solids[k];
    double visible = 1;
    if (!active_over_[i].empty()) {
      RandomStream random(0, i);
      int seen = 0, inside = 0;
      while (inside < points) {
        const Vec3d unit{random.symmetric(), random.symmetric(), random.symmetric()};
        if (!solids_[i].unit_contains(unit)) continue;
        ++inside;
        const Vec3d point = solids_[i].from_unit(unit);
        seen += std::ranges::none_of(active_over_[i], [&](std::size_t above) { return solids_[above].contains(point); })
                    ? 1
                    : 0;
      }
      visible = static_cast<double>(seen) / points;
    }
    sum += visible * activity_.values[k] * solids_[i].volume_mm3() * mL_per_mm3;
  }
  return sum;
}

Image Phantom::activity_image(const Grid& grid, int samples) const {
  return image(activity_, grid, samples);
}
Image Phantom::mu_image(const Grid& grid, int samples) const {
  return image(mu_, grid, samples);
}

Image Phantom::image(const Layer& layer, const Grid& grid, int samples) const {
  validate(grid);
  if (samples < 1 || samples > 32)
    throw std::invalid_argument(fmt::format("voxels cannot be sampled at {} points an edge: 1 to 32", samples));
  Image result = Image::zeros(grid);
  std::vector<Box3> boxes;
  for (const std::size_t i : layer.solids) boxes.push_back(solids_[i].bounds());
  const Vec3d edge = grid.voxel_mm.as<double>();
  // The mean over one voxel of the topmost of the solids that may meet it, which are given by their place in the layer.
  const auto mean = [&](Vec3d centre, const std::vector<std::size_t>& near) {
    double sum = 0;
    for (int n = 0; n < samples * samples * samples; ++n) {
      const auto offset = [&](int index, double width) { return ((index % samples + 0.5) / samples - 0.5) * width; };
      const Vec3d point =
          centre + Vec3d{offset(n, edge.x), offset(n / samples, edge.y), offset(n / samples / samples, edge.z)};
      for (const std::size_t k : near)
        if (solids_[layer.solids[k]].contains(point)) {
          sum += layer.values[k];
          break;
        }
    }
    return sum / (samples * samples * samples);
  };
  const auto box_of = [&](Vec3d low_centre, Vec3d high_centre) {
    return Box3{low_centre - 0.5 * edge, high_centre + 0.5 * edge};
  };
  const auto fill_row = [&](int j, int k) {
    const Box3 row = box_of(grid.centre(0, j, k).as<double>(), grid.centre(grid.size[0] - 1, j, k).as<double>());
    std::vector<std::size_t> in_row, near;  // topmost first
    for (std::size_t s = boxes.size(); s-- > 0;)
      if (boxes[s].intersects(row)) in_row.push_back(s);
    for (int i = 0; i < grid.size[0] && !in_row.empty(); ++i) {
      const Vec3d centre = grid.centre(i, j, k).as<double>();
      near.clear();
      for (const std::size_t s : in_row)
        if (boxes[s].intersects(box_of(centre, centre))) near.push_back(s);
      if (!near.empty()) result.voxels[grid.index(i, j, k)] = static_cast<float>(mean(centre, near));
    }
  };
  tbb::parallel_for(tbb::blocked_range2d<int>(0, grid.size[2], 0, grid.size[1]),
                    [&](const tbb::blocked_range2d<int>& range) {
                      for (int k = range.rows().begin(); k != range.rows().end(); ++k)
                        for (int j = range.cols().begin(); j != range.cols().end(); ++j) fill_row(j, k);
                    });
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
