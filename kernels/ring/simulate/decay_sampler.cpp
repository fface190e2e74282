// Cells, bounds and draws of decays: see decay_sampler.hpp.
#include "kernels/ring/simulate/decay_sampler.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "kernels/math/units.hpp"

namespace tofstream {
namespace {

constexpr double smallest_edge_mm = 20;  // attenuation changes slowly over that
constexpr double cells_wanted = 2000;
constexpr std::size_t direction_bins = 32;  // of half a turn, which holds a line's two directions
constexpr double bin_width = std::numbers::pi / direction_bins;
constexpr int parts_an_edge = 4;  // of a cell
constexpr int lines_tried = 8;
constexpr double margin = 1.1;  // the best line of a cell is better than the best of those tried

constexpr int parts_a_cell = parts_an_edge * parts_an_edge * parts_an_edge;
constexpr double all_of_space = std::numeric_limits<double>::infinity();

/// Where a part's lower corner lies in its cell, in edges of a part.
Vec3d place_of(int part) {
  return Vec3Of<int>{part % parts_an_edge, part / parts_an_edge % parts_an_edge, part / (parts_an_edge * parts_an_edge)}
      .as<double>();
}

Vec3d scaled(Vec3d v, Vec3d by) {
  return {v.x * by.x, v.y * by.y, v.z * by.z};
}

struct Direction {
  double x, y;
};

/// The direction at a fraction of a bin of half a turn: the bin's middle, turned by so small an angle
/// that the series are exact to rounding.
Direction direction_in(std::size_t bin, double fraction) {
  static const std::array middles = [] {
    std::array<Direction, direction_bins> made;
    for (std::size_t i = 0; i < direction_bins; ++i) {
      const double turn = (static_cast<double>(i) + 0.5) * bin_width;
      made[i] = {std::cos(turn), std::sin(turn)};
    }
    return made;
  }();
  const double t = (fraction - 0.5) * bin_width, tt = t * t;
  const double sine = t * (1 - tt * (1.0 / 6) * (1 - tt * (1.0 / 20) * (1 - tt * (1.0 / 42))));
  const double cosine = 1 - tt * 0.5 * (1 - tt * (1.0 / 12) * (1 - tt * (1.0 / 30) * (1 - tt * (1.0 / 56))));
  const Direction m = middles[bin];
  return {m.x * cosine - m.y * sine, m.y * cosine + m.x * sine};
}

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

DecaySampler::DecaySampler(const Phantom& phantom, RingBounds ring, const Chance& chance, double range_mm)
    : ring_(ring), range_mm_(range_mm), table_([&] {
        const double reach = phantom.transaxial_radius_mm() + 5 * range_mm;
        if (!(reach < ring.radius_mm))
          throw std::invalid_argument(
              fmt::format("phantom {} reaches {:.1f} mm from the axis, beyond the scanner's inner radius of "
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
          throw std::invalid_argument(fmt::format("phantom {} has no activity in the scanner", phantom.name()));
        return AliasTable(rates_of_pairs(phantom, chance));
      }()) {}

void DecaySampler::add_cells(const Phantom& phantom, std::uint32_t index, double edge_mm) {
  const Solid& solid = phantom.solids()[index];
  int count[3];
  Vec3d size;
  for (int axis = 0; axis < 3; ++axis) {
    count[axis] = static_cast<int>(std::ceil(2 * solid.half_axis_mm(axis) / edge_mm));
    size.set(axis, 2.0 / count[axis]);
  }
  const double reach = 0.5 * norm(Vec3d{size.x * solid.half_axis_mm(0), size.y * solid.half_axis_mm(1),
                                        size.z * solid.half_axis_mm(2)}) +
                       5 * range_mm_;
  for (int k = 0; k < count[2]; ++k)
    for (int j = 0; j < count[1]; ++j)
      for (int i = 0; i < count[0]; ++i) {
        const Vec3d low{i * size.x - 1, j * size.y - 1, k * size.z - 1};
        if (!may_meet(solid, low, low + size)) continue;
        const Vec3d centre = solid.from_unit(low + 0.5 * size), half{reach, reach, reach};
        Cell cell{.solid = index, .low = low.as<float>(), .size = size.as<float>()};
        cell.first_cover = cell.end_cover = static_cast<std::uint32_t>(covers_.size());
        cell.first_part = static_cast<std::uint32_t>(parts_.size());
        for (const std::size_t above : phantom.covers_of(index))
          if (phantom.solids()[above].bounds().intersects({centre - half, centre + half})) {
            covers_.push_back(static_cast<std::uint32_t>(above));
            ++cell.end_cover;
          }
        const Vec3d step = (1.0 / parts_an_edge) * size;
        for (int part = 0; part < parts_a_cell; ++part) {
          const Vec3d corner = low + scaled(place_of(part), step);
          if (may_hold(phantom, cell, corner, corner + step)) parts_.push_back(static_cast<std::uint8_t>(part));
        }
        cell.parts = static_cast<std::uint32_t>(parts_.size()) - cell.first_part;
        if (cell.parts > 0) cells_.push_back(cell);
      }
}

bool DecaySampler::may_hold(const Phantom& phantom, const Cell& cell, Vec3d low, Vec3d high) const {
  const Solid& solid = phantom.solids()[cell.solid];
  if (!may_meet(solid, low, high)) return false;
  Vec3d corners[8];
  double least_z = all_of_space;
  for (int i = 0; i < 8; ++i) {
    corners[i] = solid.from_unit({i & 1 ? high.x : low.x, i & 2 ? high.y : low.y, i & 4 ? high.z : low.z});
    least_z = std::min(least_z, std::abs(corners[i].z));
  }
  if (least_z - 5 * range_mm_ >= ring_.half_length_mm) return false;
  // Solids are convex: one that contains all corners covers the part.
  return std::none_of(covers_.begin() + cell.first_cover, covers_.begin() + cell.end_cover, [&](std::uint32_t above) {
    return std::ranges::all_of(corners, [&](Vec3d corner) { return phantom.solids()[above].contains(corner); });
  });
}

bool DecaySampler::covered(const Phantom& phantom, const Cell& cell, Vec3d point) const {
  for (std::uint32_t k = cell.first_cover; k != cell.end_cover; ++k)
    if (phantom.solids()[covers_[k]].contains(point)) return true;
  return false;
}

std::vector<double> DecaySampler::rates_of_pairs(const Phantom& phantom, const Chance& chance) {
  best_.assign(cells_.size() * direction_bins, 1);  // so that weights are shares
  std::vector<double> tried(best_.size());
  tbb::parallel_for(std::size_t{0}, best_.size(), [&](std::size_t pair) {
    RandomStream random(0, pair);
    for (int found = 0, tries = 0; found < lines_tried && tries < 8 * lines_tried; ++tries)
      if (const auto decay = draw_from(phantom, pair, random)) {
        ++found;
        tried[pair] = std::max(tried[pair], decay->weight * chance(*decay));
      }
  });
  // A pair of which no try is seen (most of them are covered by other solids) gets the mean of
  // others: any value is right on average.
  const auto seen = std::ranges::count_if(tried, [](double best) { return best > 0; });
  const double typical = seen ? std::accumulate(tried.begin(), tried.end(), 0.0) / static_cast<double>(seen) : 1.0;
  for (std::size_t pair = 0; pair < best_.size(); ++pair)
    best_[pair] = static_cast<float>(tried[pair] > 0 ? margin * tried[pair] : typical);

  std::vector<double> rates;
  for (std::size_t pair = 0; pair < best_.size(); ++pair) {
    const Cell& cell = cells_[pair / direction_bins];
    const Solid& solid = phantom.solids()[cell.solid];
    const double cube =
        solid.half_axis_mm(0) * solid.half_axis_mm(1) * solid.half_axis_mm(2) * cell.parts / parts_a_cell;
    const double decays =
        *solid.activity_Bq_mL * mL_per_mm3 * cube * static_cast<double>(cell.size.x * cell.size.y * cell.size.z);
    rates.push_back(decays * static_cast<double>(best_[pair]) / static_cast<double>(direction_bins));
    rate_ += rates.back();
  }
  return rates;
}

std::optional<Decay> DecaySampler::draw(const Phantom& phantom, RandomStream& random) const {
  return draw_from(phantom, table_.draw(random), random);
}

std::optional<Decay> DecaySampler::draw_from(const Phantom& phantom, std::size_t pair, RandomStream& random) const {
  const Cell& cell = cells_[pair / direction_bins];
  const Solid& solid = phantom.solids()[cell.solid];
  const Vec3d place = place_of(parts_[cell.first_part + random.below(cell.parts)]);
  const Vec3d offset = place + Vec3d{random.uniform(), random.uniform(), random.uniform()};
  const Vec3d unit = cell.low.as<double>() + (1.0 / parts_an_edge) * scaled(offset, cell.size.as<double>());
  if (!solid.unit_contains(unit)) return std::nullopt;
  const Vec3d born = solid.from_unit(unit);
  Vec3d p = born;
  if (range_mm_ > 0) p = p + range_mm_ * Vec3d{random.normal(), random.normal(), random.normal()};
  const auto [ux, uy] = direction_in(pair % direction_bins, random.uniform());

  // Both ends of the line, where it meets the radius at distances `ahead` and `behind` across the
  // axis, must lie within the half length: slopes dz / distance in [low, high] / inside, since ahead x
  // behind = inside.
  const double inside = ring_.radius_mm * ring_.radius_mm - p.x * p.x - p.y * p.y;
  if (inside <= 0 || std::abs(p.z) >= ring_.half_length_mm) return std::nullopt;
  const double b = p.x * ux + p.y * uy, root = std::sqrt(b * b + inside);
  const double ahead = root - b, behind = root + b;
  const double up = ring_.half_length_mm - p.z, down = ring_.half_length_mm + p.z;
  const double low = -std::min(down * behind, up * ahead), high = std::min(up * behind, down * ahead);
  const double low_cosine = low / std::sqrt(inside * inside + low * low);
  const double high_cosine = high / std::sqrt(inside * inside + high * high);
  if (covered(phantom, cell, born)) return std::nullopt;
  const double cosine = low_cosine + (high_cosine - low_cosine) * random.uniform();
  const double sine = std::sqrt(1 - cosine * cosine), per_sine = 1 / sine;
  // An isotropic line has its cosine uniform in [-1, 1].
  const double share = 0.5 * (high_cosine - low_cosine);
  return Decay{
      p, {sine * ux, sine * uy, cosine}, share / static_cast<double>(best_[pair]), ahead * per_sine, behind * per_sine};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
