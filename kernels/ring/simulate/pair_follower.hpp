// From a decay, or photons that the phantom has scattered, to the pair that a ring records of it, by Monte Carlo.
// Internal to the simulation (event_simulator.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/ring/simulate/decay_sampler.hpp"
#include "kernels/ring/simulate/ring_tracer.hpp"
#include "kernels/ring/simulate/scattered_pairs.hpp"
#include "kernels/simulate/phantom.hpp"
#include "kernels/simulate/random.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

enum class Origin { decay, compton, scatter_phantom, random };

/// A recorded pair; detector1 >= detector2.
struct SeenPair {
  std::uint32_t detector1, detector2;
  float tof_mm;  // as TofModel has it
  Origin origin;
  std::uint8_t scatters = 0;  // in the phantom, of both photons
};

struct SeenPairs {
  std::vector<SeenPair> pairs;
  std::uint64_t outside_tof_window = 0;  // that came too far apart in time, and are not among the pairs
};

class PairFollower {
 public:
  /// `scanner`, that of `ring`, and both others outlive it. `attenuation`: what the phantom takes from decays' photons;
  /// `acollinearity_rad`: sigma of the angle between them.
  PairFollower(const RingScanner& ring, const Phantom& phantom, const Scanner& scanner, bool attenuation,
               double acollinearity_rad);

  /// The chance that two opposite photons leave the phantom and interact before they leave the crystals' backs.
  double chance_of(const Decay& decay, Origin origin) const;

  /// A decay's photons from its place to its record or its loss. Both are made to interact in the
  /// slabs that they enter, and the decay kept weight x the chance of that x survival times on average.
  void follow(SeenPairs& seen, const Decay& decay, Origin origin, RandomStream& random) const;

  /// A pair of which the phantom scatters a photon.
  void follow_scattered(SeenPairs& seen, const ScatteredPairs& scattered, RandomStream& random) const;

  /// Two photons of different decays.
  SeenPair draw_random(RandomStream& random) const;

  bool in_coincidence(std::uint32_t module1, std::uint32_t module2) const {
    return tracer_.in_coincidence(module1, module2);
  }

 private:
  double survival(Vec3d point, Vec3d direction, Origin origin) const;
  bool recorded_by(std::uint32_t one, std::uint32_t two, RandomStream& random) const;
  std::optional<RingTracer::Hit> detected(Vec3d point, Vec3d direction, double circle_mm, double& weight,
                                          RandomStream& random, double attenuation = 1) const;
  std::optional<RingTracer::Hit> detected_scattered(const Photon& photon, const ScatteredPairs& scattered,
                                                    double& weight, RandomStream& random) const;
  double way_to_circle_mm(const Photon& photon) const;
  void record(SeenPairs& seen, const RingTracer::Hit& first, const RingTracer::Hit& second, Origin origin,
              std::uint8_t scatters, RandomStream& random) const;
  float recorded_tof(double tof) const;

  const RingScanner& ring_;
  const Phantom& phantom_;
  const Scanner& scanner_;
  RingTracer tracer_;
  bool attenuation_;
  double acollinearity_rad_;
  double window_mm_, sigma_mm_, bin_mm_;  // of ToF
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
