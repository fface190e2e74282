// One decay of a Monte Carlo estimate of scatter (multiple_scatter.hpp): both photons through matter to the detectors, and
// what their coincidence adds to the samples about its line. For host and device, which follow the same histories.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/math/compton.hpp"
#include "kernels/math/counter_random.hpp"
#include "kernels/math/crystal_stopping.hpp"
#include "kernels/ring/correct/scatter.hpp"
#include "kernels/ring/scatter/scatter_legs.hpp"
#include "kernels/simulate/photon.hpp"

namespace tofstream::ring_scatter {

/// A mu map as leaves() of photon.hpp wants matter.
struct VoxelMatter {
  RayView mu;
  RayBox box;
  double most = 0;

  TOFSTREAM_HOST_DEVICE double most_per_mm() const { return most; }
  TOFSTREAM_HOST_DEVICE double per_mm(Vec3d at) const { return static_cast<double>(mu.at(mu.place(at), {0, 0, 0}, 0)); }
  TOFSTREAM_HOST_DEVICE bool inside(Vec3d at) const {
    return at.x > box.low.x && at.x < box.high.x && at.y > box.low.y && at.y < box.high.y && at.z > box.low.z &&
           at.z < box.high.z;
  }
};

/// Where decays happen: in voxels, each of which is a constant. A voxel is found in the sums of the activity, of which a
/// table says where to look (Chen and Asau, AIIE Trans 6:163, 1974).
struct DecayVoxels {
  const double* sums = nullptr;  // of the activity up to and with each voxel
  std::int64_t voxels = 0;
  // guide[n] for n in 0..guides: the first voxel whose sum exceeds n / guides of all; of nothing, the last.
  const std::int32_t* guide = nullptr;
  std::int32_t guides = 1;  // a power of two, so that n / guides is exact
  int size[3] = {};
  Vec3d corner_mm, edge_mm;

  template <class Random>
  TOFSTREAM_HOST_DEVICE Vec3d draw(Random& random) const {
    const double share = random.uniform(), wanted = share * sums[voxels - 1];
    const auto n = static_cast<std::int32_t>(share * guides);
    std::int32_t low = guide[n], high = guide[n + 1];
    while (low < high) {
      const std::int32_t middle = low + (high - low) / 2;
      if (sums[middle] > wanted)
        high = middle;
      else
        low = middle + 1;
    }
    const auto i = static_cast<double>(low % size[0]), j = static_cast<double>(low / size[0] % size[1]),
               k = static_cast<double>(low / size[0] / size[1]);
    return corner_mm + Vec3d{(i + random.uniform()) * edge_mm.x, (j + random.uniform()) * edge_mm.y,
                             (k + random.uniform()) * edge_mm.z};
  }
};

/// The samples that coincidences are counted at, as ScatterEstimate has them.
struct CountedLattice {
  int size[5] = {1, 1, 1, 1, 1};
  double radial_mm = 1, axial_mm = 1, tof_mm = 1, tof_sigma_mm = 0;

  TOFSTREAM_HOST_DEVICE std::int64_t lines() const { return std::int64_t{size[0]} * size[1] * size[2] * size[3]; }
  TOFSTREAM_HOST_DEVICE std::int64_t values() const { return lines() * size[4]; }

  /// Calls add(number of a sample, share of the weight) for the samples about a place: linear in its line, so that a sample
  /// counts what is within a spacing of it, and Gaussian in ToF. Places beyond the outermost samples are not counted.
  template <class Add>
  TOFSTREAM_HOST_DEVICE void lay_down(const SinogramPlace& place, double weight, const Add& add) const {
    for (int corner = 0; corner < corners; ++corner) lay_down_at(corner, place, weight, 0, 1, add);
  }

  static constexpr int corners = 16;  // lines about a place
  /// The same for one of these lines, and of its samples of ToF the one `from` after the first and every `every`-th from
  /// there on.
  template <class Add>
  TOFSTREAM_HOST_DEVICE void lay_down_at(int corner, const SinogramPlace& place, double weight, int from, int every,
                                         const Add& add) const {
    constexpr double pi = 3.14159265358979324;
    const double turn = static_cast<double>(place.phi) / pi * size[1];
    const int angle = static_cast<int>(turn) + (corner >> 3);
    const double of_angle = weight * (1 - std::abs(turn - angle));
    if (angle < size[1]) return lay_down_line(corner & 7, angle, place, of_angle, from, every, add);
    const SinogramPlace turned_over{-place.s, place.phi, place.z_b, place.z_a, -place.tof};
    lay_down_line(corner & 7, angle - size[1], turned_over, of_angle, from, every, add);
  }

 private:
  struct Pair {
    int first;        // of two samples
    double share[2];  // of each; 0 beyond the outermost
  };
  TOFSTREAM_HOST_DEVICE static Pair about(double at_mm, double spacing_mm, int samples) {
    const double at = at_mm / spacing_mm + 0.5 * (samples - 1);
    if (!(at >= 0 && at <= samples - 1)) return {0, {0, 0}};
    const int first = static_cast<int>(at) < samples - 1 ? static_cast<int>(at) : samples - 2;
    return {first, {1 - (at - first), at - first}};
  }

  template <class Add>
  TOFSTREAM_HOST_DEVICE void lay_down_line(int corner, int angle, const SinogramPlace& place, double weight, int from,
                                           int every, const Add& add) const {
    const Pair s = about(static_cast<double>(place.s), radial_mm, size[0]),
               a = about(static_cast<double>(place.z_a), axial_mm, size[2]),
               b = about(static_cast<double>(place.z_b), axial_mm, size[3]);
    const int ds = corner & 1, da = corner >> 1 & 1, db = corner >> 2;
    const double share = weight * s.share[ds] * a.share[da] * b.share[db];
    if (!(share > 0)) return;
    const std::int64_t line =
        s.first + ds +
        std::int64_t{size[0]} *
            (angle + std::int64_t{size[1]} * (a.first + da + std::int64_t{size[2]} * (b.first + db)));
    lay_down_tof(line, place, share, from, every, add);
  }

  template <class Add>
  TOFSTREAM_HOST_DEVICE void lay_down_tof(std::int64_t line, const SinogramPlace& place, double weight, int from,
                                          int every, const Add& add) const {
    if (size[4] == 1) {
      if (from == 0) add(line, weight);
      return;
    }
    constexpr double cut = 5, root_of_two_pi = 2.50662827463100050;
    const double middle = 0.5 * (size[4] - 1), reach = cut * tof_sigma_mm / tof_mm;
    const double at = static_cast<double>(place.tof) / tof_mm + middle;
    const double low = std::ceil(at - reach), high = std::floor(at + reach);
    const int first = low > 0 ? static_cast<int>(low) : 0;
    const int last = high < size[4] - 1 ? static_cast<int>(high) : size[4] - 1;
    for (int t = first + from; t <= last; t += every) {
      const double apart = (t - at) * tof_mm / tof_sigma_mm;
      add(line + lines() * t, weight * std::exp(-0.5 * apart * apart) * tof_mm / (tof_sigma_mm * root_of_two_pi));
    }
  }
};

/// A coincidence's line between detectors on the cylinder, and how many it stands for: 0 of what is not recorded.
struct CountedCoincidence {
  SinogramPlace place;
  double weight = 0;
};

/// What a coincidence needs of its first photon.
struct FirstPhoton {
  Vec3d at_mm;  // where it was recorded
  double path_mm = 0, weight = 0;
  int scatters = 0;
};

struct HistoryLaw {
  VoxelMatter matter;
  DecayVoxels decays;
  EnergyAcceptance energy;
  double share_at_511 = 1, least_keV = 0;
  ElementResponse crystal;
  double radius_mm = 0, half_length_mm = 0;
  int from_order = 1;  // scatters of both photons together
  std::uint64_t seed = 1;

  /// A decay's coincidence. Its weight is in units of 4 pi R: what the pair's own efficiency and the density of lines about
  /// the place divide it by (multiple_scatter.hpp).
  TOFSTREAM_HOST_DEVICE CountedCoincidence follow(std::uint64_t number) const {
    CounterRandom random(seed, number);
    Photon one = start(random), two{one.at_mm, -1.0 * one.direction};
    if (!is_within(one) || !leaves(one, matter, least_keV, random)) return {};
    const FirstPhoton first = first_of(one);
    if (!(first.weight > 0) || !leaves(two, matter, least_keV, random)) return {};
    return coincidence(first, two);
  }

  // The parts of follow(), in their order: between them photons are followed through the matter.

  /// A decay's first photon; the second one starts at the same place, in the opposite direction.
  template <class Random>
  TOFSTREAM_HOST_DEVICE Photon start(Random& random) const {
    constexpr double pi = 3.14159265358979324;
    const Vec3d at = decays.draw(random);
    const double cosine = 2 * random.uniform() - 1;
    return {at, turned({0, 0, 1}, cosine, 2 * pi * random.uniform())};
  }

  /// Whether it starts within the detectors.
  TOFSTREAM_HOST_DEVICE bool is_within(const Photon& photon) const {
    return photon.at_mm.x * photon.at_mm.x + photon.at_mm.y * photon.at_mm.y < radius_mm * radius_mm;
  }

  /// What is kept of a photon that has left matter; weight 0 where it is not recorded.
  TOFSTREAM_HOST_DEVICE FirstPhoton first_of(Photon& photon) const {
    const double weight = recorded(photon);
    return {photon.at_mm, photon.path_mm, weight, photon.scatters};
  }

  /// With the second photon, which has left matter.
  TOFSTREAM_HOST_DEVICE CountedCoincidence coincidence(const FirstPhoton& one, Photon& two) const {
    const double weight = one.weight * recorded(two);
    if (!(weight > 0) || one.scatters + two.scatters < from_order) return {};
    const Lor lor{one.at_mm.as<float>(), two.at_mm.as<float>(), static_cast<float>(0.5 * (one.path_mm - two.path_mm))};
    const SinogramPlace place = sinogram_place(lor);
    return {place, weight * over_own(one.at_mm, two.at_mm, static_cast<double>(place.s))};
  }

 private:
  /// Takes a photon to the detectors; how many of it are recorded, relative to one of 511 keV that is stopped.
  TOFSTREAM_HOST_DEVICE double recorded(Photon& photon) const {
    const Vec3d p = photon.at_mm, u = photon.direction;
    const double across = u.x * u.x + u.y * u.y, outwards = p.x * u.x + p.y * u.y;
    const double root = outwards * outwards - across * (p.x * p.x + p.y * p.y - radius_mm * radius_mm);
    if (!(across > 0 && root > 0)) return 0;
    const double way = (std::sqrt(root) - outwards) / across;
    photon.at_mm = p + way * u;
    photon.path_mm += way;
    if (!(std::abs(photon.at_mm.z) <= half_length_mm)) return 0;
    const double facing = (photon.at_mm.x * u.x + photon.at_mm.y * u.y) / radius_mm;
    if (photon.scatters == 0) return detector_response(crystal, photon.at_mm, u) / facing;
    const float more = crystal_attenuation_ratio(static_cast<float>(photon.energy_keV));
    const ElementResponse stops{crystal.area_mm2, more * crystal.front, more * crystal.back};
    return energy.share(photon.energy_keV) / share_at_511 * detector_response(stops, photon.at_mm, u) / facing;
  }

  // Points on the cylinder are R^2 dalpha_1 dalpha_2 dz_1 dz_2, of which s and phi have 2 R^2 / sqrt(R^2 - s^2) each.
  TOFSTREAM_HOST_DEVICE double over_own(Vec3d from, Vec3d to, double s_mm) const {
    const double length = norm(to - from);
    const Vec3d along = (1 / length) * (to - from);
    const double own = detector_response(crystal, from, -1.0 * along) * detector_response(crystal, to, along);
    const double density = std::sqrt(radius_mm * radius_mm - s_mm * s_mm) / (2 * radius_mm * radius_mm);
    return own > 0 ? density * length * length / (2 * radius_mm * own) : 0;
  }
};

}  // namespace tofstream::ring_scatter
// SPDX-License-Identifier: Apache-2.0
