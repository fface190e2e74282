// Pairs of photons of which the phantom scattered at least one: every decay is followed, wherever its photons go.
#pragma once

#include <optional>
#include <vector>

#include "kernels/math/compton.hpp"
#include "kernels/simulate/alias_table.hpp"
#include "kernels/simulate/phantom.hpp"
#include "kernels/simulate/photon.hpp"

namespace tofstream {

/// What a decay is like beside its phantom: sigmas.
struct DecayBlur {
  double acollinearity_rad = 0;  // in each of two directions across the line
  double range_mm = 0;           // of the positron, along each axis
};

/// `direction` bent by a Gaussian angle in each of two directions across it.
Vec3d deflected(Vec3d direction, double sigma_rad, RandomStream& random);

class ScatteredPairs {
 public:
  struct Pair {
    Photon one, two;  // where they left the phantom
  };

  /// Photons that `energy` accepts with a chance of less than 1e-6 are not followed further. Throws
  /// std::invalid_argument for a phantom without attenuation and an energy response that cannot be.
  ScatteredPairs(const Phantom& phantom, const EnergyAcceptance& energy, DecayBlur blur);

  /// Draws a second, which together with `draw` make a Poisson process.
  double rate() const { return rate_; }
  /// None for a draw that is no decay, or whose photons were both not scattered, or one of which lost too much energy
  /// or flies to where `is_seen` says that nothing sees it.
  template <class Sees>
  std::optional<Pair> draw(const Phantom& phantom, const Sees& is_seen, RandomStream& random) const {
    std::optional<Pair> pair = born(phantom, random);
    if (!pair) return pair;
    for (Photon* const photon : {&pair->one, &pair->two})
      if (!leaves_phantom(phantom, *photon, random) || !is_seen(*photon)) return std::nullopt;
    if (pair->one.scatters + pair->two.scatters == 0) return std::nullopt;
    return pair;
  }
  /// How many times a detector records a photon that stops in it, relative to one of 511 keV.
  double recorded(const Photon& photon) const { return energy_.share(photon.energy_keV) / share_at_511_; }

 private:
  std::optional<Pair> born(const Phantom& phantom, RandomStream& random) const;
  bool leaves_phantom(const Phantom& phantom, Photon& photon, RandomStream& random) const;

  EnergyAcceptance energy_;
  DecayBlur blur_;
  double share_at_511_, least_keV_ = 0, most_per_mm_ = 0;
  Box3 box_;
  std::vector<std::size_t> solids_;  // with activity
  double rate_ = 0;
  std::optional<AliasTable> table_;  // of solids_
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
