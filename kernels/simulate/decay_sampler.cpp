// Cells, bounds and draws of decays: see decay_sampler.hpp.
#include "kernels/simulate/decay_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

namespace tofstream {
namespace {

constexpr double mL_per_mm3 = 1e-3;
constexpr double smallest_edge_mm = 20;  // attenuation changes slowly over that
constexpr double cells_wanted = 2000;
constexpr std::size_t bins_with_attenuation = 32;
constexpr int lines_tried = 8;
constexpr double margin = 1.1;  // the best line of a cell is better than the best of those tried

double nearest_to_zero(double low, double high) {
  return low > 0 ? low : (high < 0 ? high : 0.0);
}

/// True unless no point of a box of the unit cube lies within the unit shape.
bool may_meet(const Solid& solid, Vec3d low, Vec3d high) {
  const double x = nearest_to_zero(low.x, high.x), y = nearest_to_zero(low.y, high.y);
  const double z = nearest_to_zero(low.z, high.z);
  if (!solid.may_keep(low, high)) return false;
  if (solid.shape() == Shape::ellipsoid) return x * x + y * y + z * z <= 1;
  if (solid.shape() == Shape::cylinder) return x * x + y * y <= 1;
  return true;
}

}  // namespace

DecaySampler::DecaySampler(const Phantom& phantom, RingBounds ring, bool attenuation,
                           double range_mm)
    : ring_(ring),
      attenuation_(attenuation),
      range_mm_(range_mm),
      direction_bins_(attenuation ? bins_with_attenuation : 1),
      table_([&] {
        const double reach = phantom.transaxial_radius_mm() + 5 * range_mm;
        if (!(reach < ring.radius_mm))
          throw std::invalid_argument(fmt::format(
              "phantom {} reaches {:.1f} mm from the axis, beyond the scanner's inner radius of "
              "{:.1f} mm",
              phantom.name(), reach, ring.radius_mm));
        double volume = 0;
        const auto active = [&](const Solid& s) { return s.activity_Bq_mL.value_or(0) > 0; };
        for (const Solid& solid : phantom.solids())
          if (active(solid)) volume += solid.volume_mm3();
        const double edge = std::max(smallest_edge_mm, std::cbrt(volume / cells_wanted));
        for (std::uint32_t i = 0; i < phantom.solids().size(); ++i)
          if (active(phantom.solids()[i])) add_cells(phantom, i, edge);
        if (cells_.empty())
          throw std::invalid_argument(
              fmt::format("phantom {} has no activity in the scanner", phantom.name()));
        return AliasTable(estimate_bounds(phantom));
      }()) {}

void DecaySampler::add_cells(const Phantom& phantom, std::uint32_t index, double edge_mm) {
  const Solid& solid = phantom.solids()[index];
  int count[3];
  Vec3d size;
  for (int axis = 0; axis < 3; ++axis) {
    count[axis] = static_cast<int>(std::ceil(2 * solid.half_axis_mm(axis) / edge_mm));
    size.set(axis, 2.0 / count[axis]);
  }
  const double reach =
      0.5 * norm(Vec3d{size.x * solid.half_axis_mm(0), size.y * solid.half_axis_mm(1),
                       size.z * solid.half_axis_mm(2)}) +
      5 * range_mm_;
  for (int k = 0; k < count[2]; ++k)
    for (int j = 0; j < count[1]; ++j)
      for (int i = 0; i < count[0]; ++i) {
        const Vec3d low{i * size.x - 1, j * size.y - 1, k * size.z - 1};
        if (!may_meet(solid, low, low + size)) continue;
        // The steepest line from the cell: its ends meet the radius within the half length, the
        // nearer end at a distance of at least radius - r, both at a sum of at least the chord.
        const Vec3d centre = solid.from_unit(low + 0.5 * size);
        const double r = std::min(std::hypot(centre.x, centre.y) + reach, 0.999 * ring_.radius_mm);
        const double z = std::max(std::abs(centre.z) - reach, 0.0);
        if (z >= ring_.half_length_mm) continue;
        const double slope =
            std::min((ring_.half_length_mm - z) / (ring_.radius_mm - r),
                     ring_.half_length_mm / std::sqrt(ring_.radius_mm * ring_.radius_mm - r * r));
        cells_.push_back({index, low.as<float>(), size.as<float>(),
                          static_cast<float>(slope / std::hypot(1.0, slope))});
      }
}

std::vector<double> DecaySampler::estimate_bounds(const Phantom& phantom) {
  bounds_.assign(cells_.size() * direction_bins_, 1);
  if (attenuation_)
    tbb::parallel_for(std::size_t{0}, bounds_.size(), [&](std::size_t pair) {
      RandomStream random(0, pair);
      double best = 0;
      for (int found = 0, tries = 0; found < lines_tried && tries < 8 * lines_tried; ++tries)
        if (const auto decay = draw_from(phantom, pair, random)) {
          ++found;
          best = std::max(best,
                          std::exp(-phantom.line_attenuation(decay->point_mm, decay->direction)));
        }
      // A corner of a solid that no try found keeps the bound 1.
      if (best > 0) bounds_[pair] = static_cast<float>(std::min(1.0, margin * best));
    });
  std::vector<double> rates;
  for (std::size_t pair = 0; pair < bounds_.size(); ++pair) {
    const Cell& cell = cells_[pair / direction_bins_];
    const Solid& solid = phantom.solids()[cell.solid];
    const double cube = solid.half_axis_mm(0) * solid.half_axis_mm(1) * solid.half_axis_mm(2);
    const double decays = *solid.activity_Bq_mL * mL_per_mm3 * cube *
                          static_cast<double>(cell.size.x * cell.size.y * cell.size.z);
    rates.push_back(decays * static_cast<double>(cell.max_cosine * bounds_[pair]) /
                    static_cast<double>(direction_bins_));
    rate_ += rates.back();
  }
  return rates;
}

std::optional<Decay> DecaySampler::draw(const Phantom& phantom, RandomStream& random) const {
  return draw_from(phantom, table_.draw(random), random);
}

std::optional<Decay> DecaySampler::draw_from(const Phantom& phantom, std::size_t pair,
                                             RandomStream& random) const {
  const Cell& cell = cells_[pair / direction_bins_];
  const Solid& solid = phantom.solids()[cell.solid];
  const auto within = [&](float low, float size) {
    return static_cast<double>(low) + static_cast<double>(size) * random.uniform();
  };
  const Vec3d unit{within(cell.low.x, cell.size.x), within(cell.low.y, cell.size.y),
                   within(cell.low.z, cell.size.z)};
  if (!solid.unit_contains(unit)) return std::nullopt;
  const Vec3d born = solid.from_unit(unit);
  Vec3d p = born;
  if (range_mm_ > 0) p = p + range_mm_ * Vec3d{random.normal(), random.normal(), random.normal()};
  // A line has two directions: half a turn holds them all.
  const double turn = (static_cast<double>(pair % direction_bins_) + random.uniform()) *
                      (std::numbers::pi / static_cast<double>(direction_bins_));
  const double cosine = static_cast<double>(cell.max_cosine) * random.symmetric();
  const double sine = std::sqrt(1 - cosine * cosine);
  const Vec3d u{sine * std::cos(turn), sine * std::sin(turn), cosine};
  if (!may_be_seen(p, u) || !phantom.emits_at(cell.solid, born)) return std::nullopt;
  return Decay{p, u, static_cast<double>(bounds_[pair])};
}

bool DecaySampler::may_be_seen(Vec3d p, Vec3d u) const {
  const double outside = p.x * p.x + p.y * p.y - ring_.radius_mm * ring_.radius_mm;
  if (outside >= 0) return false;
  const double a = u.x * u.x + u.y * u.y, b = p.x * u.x + p.y * u.y;
  const double root = std::sqrt(b * b - a * outside);
  return std::abs(a * p.z + (root - b) * u.z) <= a * ring_.half_length_mm &&
         std::abs(a * p.z - (root + b) * u.z) <= a * ring_.half_length_mm;
}

}  // namespace tofstream
