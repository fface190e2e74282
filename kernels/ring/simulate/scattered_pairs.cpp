// Decays anywhere in a phantom and the ways of their photons: see scattered_pairs.hpp.
#include "kernels/ring/simulate/scattered_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/math/units.hpp"

namespace tofstream {

namespace {

struct PhantomMatter {
  const Phantom& phantom;
  const Box3& box;
  double most;

  double most_per_mm() const { return most; }
  double per_mm(Vec3d at) const { return 0.1 * phantom.mu_at(at); }
  bool inside(Vec3d at) const {
    return at.x > box.low.x && at.x < box.high.x && at.y > box.low.y && at.y < box.high.y && at.z > box.low.z &&
           at.z < box.high.z;
  }
};

void require_acceptance(const EnergyAcceptance& energy) {
  if (energy.low_keV > 0 && energy.high_keV > energy.low_keV && energy.resolution > 0 && energy.resolution < 1) return;
  throw std::invalid_argument(
      fmt::format("scatter: no scanner accepts {:g} to {:g} keV at a resolution of {:g} of 511 keV", energy.low_keV,
                  energy.high_keV, energy.resolution));
}

}  // namespace

Vec3d deflected(Vec3d direction, double sigma_rad, RandomStream& random) {
  const double one = sigma_rad * random.normal(), two = sigma_rad * random.normal();
  return turned(direction, std::cos(std::hypot(one, two)), std::atan2(two, one));
}

ScatteredPairs::ScatteredPairs(const Phantom& phantom, const EnergyAcceptance& energy, DecayBlur blur)
    : energy_(energy), blur_(blur), share_at_511_(energy.share(electron_keV)), box_(phantom.bounds()) {
  require_acceptance(energy);
  least_keV_ = energy.least_keV();
  const double margin = 6 * blur.range_mm + 1;
  box_ = {box_.low - Vec3d{margin, margin, margin}, box_.high + Vec3d{margin, margin, margin}};
  std::vector<double> rates;
  for (std::size_t i = 0; i < phantom.solids().size(); ++i) {
    const Solid& solid = phantom.solids()[i];
    most_per_mm_ = std::max(most_per_mm_, 0.1 * solid.mu_per_cm.value_or(0));
    if (!(solid.activity_Bq_mL.value_or(0) > 0)) continue;
    solids_.push_back(i);
    const double cube = 8 * solid.half_axis_mm(0) * solid.half_axis_mm(1) * solid.half_axis_mm(2);
    rates.push_back(*solid.activity_Bq_mL * mL_per_mm3 * cube);
    rate_ += rates.back();
  }
  if (!(most_per_mm_ > 0))
    throw std::invalid_argument(
        fmt::format("scatter: phantom {} attenuates nothing, so that nothing scatters", phantom.name()));
  if (!solids_.empty()) table_.emplace(rates);
}

std::optional<ScatteredPairs::Pair> ScatteredPairs::born(const Phantom& phantom, RandomStream& random) const {
  const std::size_t index = solids_[table_->draw(random)];
  const Solid& solid = phantom.solids()[index];
  const Vec3d unit{random.symmetric(), random.symmetric(), random.symmetric()};
  if (!solid.unit_contains(unit)) return std::nullopt;
  Vec3d at = solid.from_unit(unit);
  if (std::ranges::any_of(phantom.covers_of(index), [&](std::size_t i) { return phantom.solids()[i].contains(at); }))
    return std::nullopt;
  if (blur_.range_mm > 0) at = at + blur_.range_mm * Vec3d{random.normal(), random.normal(), random.normal()};
  const double cosine = random.symmetric();
  const Vec3d direction = turned({0, 0, 1}, cosine, std::numbers::pi * random.symmetric());
  Vec3d back = -1.0 * direction;
  if (blur_.acollinearity_rad > 0) back = deflected(back, blur_.acollinearity_rad, random);
  return Pair{{at, direction}, {at, back}};
}

bool ScatteredPairs::leaves_phantom(const Phantom& phantom, Photon& photon, RandomStream& random) const {
  return leaves(photon, PhantomMatter{phantom, box_, most_per_mm_}, least_keV_, random);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
