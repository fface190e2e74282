// Cells, bounds and draws of decays: see decay_sampler.hpp.
#include "kernels/simulate/decay_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
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

DecaySampler::DecaySampler(const Phantom& phantom, RingBounds ring, bool attenuation, double range_mm)
    : ring_(ring),
      attenuation_(attenuation),
      range_mm_(range_mm),
      direction_bins_(attenuation ? bins_with_attenuation : 1),
      table_([&] {
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
        return AliasTable(rates_of_pairs(phantom));
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
        const Vec3d centre = solid.from_unit(low + 0.5 * size);
        if (std::abs(centre.z) - reach >= ring_.half_length_mm) continue;
        const Vec3d half{reach, reach, reach};
        const auto first = static_cast<std::uint32_t>(covers_.size());
        for (const std::size_t above : phantom.covers_of(index))
          if (phantom.solids()[above].bounds().intersects({centre - half, centre + half}))
            covers_.push_back(static_cast<std::uint32_t>(above));
        cells_.push_back({index, low.as<float>(), size.as<float>(), first, static_cast<std::uint32_t>(covers_.size())});
      }
}

bool DecaySampler::covered(const Phantom& phantom, const Cell& cell, Vec3d point) const {
  for (std::uint32_t k = cell.first_cover; k != cell.end_cover; ++k)
    if (phantom.solids()[covers_[k]].contains(point)) return true;
  return false;
}

std::vector<double> DecaySampler::rates_of_pairs(const Phantom& phantom) {
  best_.assign(cells_.size() * direction_bins_, 1);  // so that weights are shares
  std::vector<double> tried(best_.size());
  tbb::parallel_for(std::size_t{0}, best_.size(), [&](std::size_t pair) {
    RandomStream random(0, pair);
    for (int found = 0, tries = 0; found < lines_tried && tries < 8 * lines_tried; ++tries)
      if (const auto decay = draw_from(phantom, pair, random)) {
        ++found;
        const double survival =
            attenuation_ ? std::exp(-phantom.line_attenuation(decay->point_mm, decay->direction)) : 1.0;
        tried[pair] = std::max(tried[pair], decay->weight * survival);
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
    const Cell& cell = cells_[pair / direction_bins_];
    const Solid& solid = phantom.solids()[cell.solid];
    const double cube = solid.half_axis_mm(0) * solid.half_axis_mm(1) * solid.half_axis_mm(2);
    const double decays =
        *solid.activity_Bq_mL * mL_per_mm3 * cube * static_cast<double>(cell.size.x * cell.size.y * cell.size.z);
    rates.push_back(decays * static_cast<double>(best_[pair]) / static_cast<double>(direction_bins_));
    rate_ += rates.back();
  }
  return rates;
}

std::optional<Decay> DecaySampler::draw(const Phantom& phantom, RandomStream& random) const {
  return draw_from(phantom, table_.draw(random), random);
}

std::optional<Decay> DecaySampler::draw_from(const Phantom& phantom, std::size_t pair, RandomStream& random) const {
  const Cell& cell = cells_[pair / direction_bins_];
  const Solid& solid = phantom.solids()[cell.solid];
  const auto within = [&](float low, float size) {
    return static_cast<double>(low) + static_cast<double>(size) * random.uniform();
  };
  const Vec3d unit{within(cell.low.x, cell.size.x), within(cell.low.y, cell.size.y), within(cell.low.z, cell.size.z)};
  if (!solid.unit_contains(unit)) return std::nullopt;
  const Vec3d born = solid.from_unit(unit);
  Vec3d p = born;
  if (range_mm_ > 0) p = p + range_mm_ * Vec3d{random.normal(), random.normal(), random.normal()};
  // A line has two directions: half a turn holds them all.
  const double turn = (static_cast<double>(pair % direction_bins_) + random.uniform()) *
                      (std::numbers::pi / static_cast<double>(direction_bins_));
  const double ux = std::cos(turn), uy = std::sin(turn);

  // Both ends of the line, where it meets the radius at distances `ahead` and `behind` across the
  // axis, must lie within the half length: slopes dz / distance in [low, high].
  const double outside = p.x * p.x + p.y * p.y - ring_.radius_mm * ring_.radius_mm;
  if (outside >= 0 || std::abs(p.z) >= ring_.half_length_mm) return std::nullopt;
  const double b = p.x * ux + p.y * uy, root = std::sqrt(b * b - outside);
  const double ahead = 1 / (root - b), behind = 1 / (root + b);
  const double up = ring_.half_length_mm - p.z, down = ring_.half_length_mm + p.z;
  const double low = -std::min(down * ahead, up * behind), high = std::min(up * ahead, down * behind);
  const double low_cosine = low / std::sqrt(1 + low * low);
  const double high_cosine = high / std::sqrt(1 + high * high);
  if (covered(phantom, cell, born)) return std::nullopt;
  const double cosine = low_cosine + (high_cosine - low_cosine) * random.uniform();
  const double sine = std::sqrt(1 - cosine * cosine);
  // An isotropic line has its cosine uniform in [-1, 1].
  return Decay{p, {sine * ux, sine * uy, cosine}, 0.5 * (high_cosine - low_cosine) / static_cast<double>(best_[pair])};
}

}  // namespace tofstream
