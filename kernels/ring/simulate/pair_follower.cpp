// Photons from the phantom to the crystals: see pair_follower.hpp.
#include "kernels/ring/simulate/pair_follower.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/math/crystal_stopping.hpp"

namespace tofstream {

PairFollower::PairFollower(const RingScanner& ring, const Phantom& phantom, const Scanner& scanner, bool attenuation,
                           double acollinearity_rad)
    : ring_(ring),
      phantom_(phantom),
      scanner_(scanner),
      tracer_(ring),
      attenuation_(attenuation),
      acollinearity_rad_(acollinearity_rad),
      window_mm_(ring.tof_window_mm()),
      sigma_mm_(ring.tof_sigma_mm()),
      bin_mm_(ring.tof_bin_mm()) {}

double PairFollower::survival(Vec3d point, Vec3d direction, Origin origin) const {
  if (!attenuation_ || origin == Origin::scatter_phantom) return 1.0;
  return std::exp(-phantom_.line_attenuation(point, direction));
}

/// By the chance that two crystals record what reaches them.
bool PairFollower::recorded_by(std::uint32_t one, std::uint32_t two, RandomStream& random) const {
  const std::vector<float>& crystals = scanner_.bin_efficiency;
  return crystals.empty() || random.uniform() < static_cast<double>(crystals[one]) * static_cast<double>(crystals[two]);
}

double PairFollower::chance_of(const Decay& decay, Origin origin) const {
  const Vec3d p = decay.point_mm, u = decay.direction;
  return tracer_.stopping(tracer_.enter(p, u, decay.ahead_mm)) *
         tracer_.stopping(tracer_.enter(p, -1.0 * u, decay.behind_mm)) * survival(p, u, origin);
}

/// Where a photon interacts, given that it does so before the back of the slab that it enters;
/// `weight` is multiplied by the chance of that.
std::optional<RingTracer::Hit> PairFollower::detected(Vec3d point, Vec3d direction, double circle_mm, double& weight,
                                                      RandomStream& random, double attenuation) const {
  const RingTracer::Entry entry = tracer_.enter(point, direction, circle_mm);
  const double stopped = tracer_.stopping(entry, attenuation);
  weight *= stopped;
  return tracer_.interact(point, direction, entry, -std::log(1 - stopped * random.uniform()) / attenuation);
}

void PairFollower::follow(SeenPairs& seen, const Decay& decay, Origin origin, RandomStream& random) const {
  const Vec3d p = decay.point_mm, u = decay.direction;
  double weight = decay.weight;
  const auto first = detected(p, u, decay.ahead_mm, weight, random);
  if (!first) return;
  Vec3d back = -1.0 * u;
  if (acollinearity_rad_ > 0) back = deflected(back, acollinearity_rad_, random);
  const auto second = detected(p, back, decay.behind_mm, weight, random);
  if (!second || !tracer_.in_coincidence(first->module, second->module)) return;
  const double pick = random.uniform();
  if (weight + pick < 1) return;
  for (double copies = std::floor(weight * survival(p, u, origin) + pick); copies >= 1; --copies)
    record(seen, *first, *second, origin, 0, random);
}

/// How far a photon flies until it crosses the circle of the inner radius; negative where it does so beyond the ends.
double PairFollower::way_to_circle_mm(const Photon& photon) const {
  const Vec3d p = photon.at_mm, u = photon.direction;
  const double across = u.x * u.x + u.y * u.y, along = p.x * u.x + p.y * u.y;
  if (!(across > 1e-9)) return -1;
  const double inside = ring_.inner_radius_mm * ring_.inner_radius_mm - p.x * p.x - p.y * p.y;
  const double way = (std::sqrt(along * along + across * inside) - along) / across;
  return std::abs(p.z + way * u.z) < 0.5 * ring_.axial_length_mm() ? way : -1;
}

/// Where a photon that has left the phantom interacts; `weight` is multiplied by the chance of that and of its energy.
std::optional<RingTracer::Hit> PairFollower::detected_scattered(const Photon& photon, const ScatteredPairs& scattered,
                                                                double& weight, RandomStream& random) const {
  auto hit = detected(photon.at_mm, photon.direction, way_to_circle_mm(photon), weight, random,
                      crystal_attenuation_ratio(photon.energy_keV));
  if (!hit) return std::nullopt;
  hit->path_mm += photon.path_mm;
  weight *= scattered.recorded(photon);
  return hit;
}

void PairFollower::follow_scattered(SeenPairs& seen, const ScatteredPairs& scattered, RandomStream& random) const {
  const auto pair = scattered.draw(
      phantom_, [this](const Photon& photon) { return way_to_circle_mm(photon) >= 0; }, random);
  if (!pair) return;
  double weight = 1;
  const auto first = detected_scattered(pair->one, scattered, weight, random);
  if (!first) return;
  const auto second = detected_scattered(pair->two, scattered, weight, random);
  if (!second || !tracer_.in_coincidence(first->module, second->module)) return;
  const int scatters = std::min(pair->one.scatters + pair->two.scatters, 255);
  for (double copies = std::floor(weight + random.uniform()); copies >= 1; --copies)
    record(seen, *first, *second, Origin::compton, static_cast<std::uint8_t>(scatters), random);
}

void PairFollower::record(SeenPairs& seen, const RingTracer::Hit& first, const RingTracer::Hit& second, Origin origin,
                          std::uint8_t scatters, RandomStream& random) const {
  const bool swap = first.detector < second.detector;
  const RingTracer::Hit &one = swap ? second : first, &two = swap ? first : second;
  if (!recorded_by(one.detector, two.detector, random)) return;
  // c (t1 - t2) / 2: positive where photon 2 came first, nearer detector 2.
  double tof = 0.5 * (one.path_mm - two.path_mm);
  if (sigma_mm_ > 0) tof += sigma_mm_ * random.normal();
  if (!(std::abs(tof) < window_mm_)) {
    ++seen.outside_tof_window;
    return;
  }
  seen.pairs.push_back({one.detector, two.detector, recorded_tof(tof), origin, scatters});
}

SeenPair PairFollower::draw_random(RandomStream& random) const {
  const auto detectors = static_cast<std::uint32_t>(ring_.detectors());
  const auto elements = static_cast<std::uint32_t>(ring_.elements());
  std::uint32_t one = 0, two = 0;
  do {
    one = random.below(detectors);
    two = random.below(detectors);
  } while (!tracer_.in_coincidence(one / elements, two / elements) || !recorded_by(one, two, random));
  if (one < two) std::swap(one, two);
  return {one, two, recorded_tof(window_mm_ * random.symmetric()), Origin::random};
}

/// ToF as the scanner writes it: the centre of its bin, where binned.
float PairFollower::recorded_tof(double tof) const {
  if (bin_mm_ > 0) {
    const double bin = std::min(std::floor((tof + window_mm_) / bin_mm_), ring_.tof_bins - 1.0);
    tof = (bin + 0.5) * bin_mm_ - window_mm_;
  }
  return static_cast<float>(tof);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
