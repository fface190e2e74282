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

/// Where decays happen: in voxels, each of which is a constant.
struct DecayVoxels {
  const double* sums = nullptr;  // of the activity up to and with each voxel
  std::int64_t voxels = 0;
  int size[3] = {};
  Vec3d corner_mm, edge_mm;

  template <class Random>
  TOFSTREAM_HOST_DEVICE Vec3d draw(Random& random) const {
    const double wanted = random.uniform() * sums[voxels - 1];
    std::int64_t low = 0, high = voxels - 1;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
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
  TOFSTREAM_HOST_DEVICE void lay_down(SinogramPlace place, double weight, const Add& add) const {
    constexpr double pi = 3.14159265358979324;
    const double turn = static_cast<double>(place.phi) / pi * size[1];
    for (int step = 0; step < 2; ++step) {
      int angle = static_cast<int>(turn) + step;
      const double of_angle = 1 - std::abs(turn - angle);
      SinogramPlace here = place;
      if (angle >= size[1]) {  // the line turned over
        angle -= size[1];
        here = {-place.s, place.phi, place.z_b, place.z_a, -place.tof};
      }
      lay_down_at(angle, here, weight * of_angle, add);
    }
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
  TOFSTREAM_HOST_DEVICE void lay_down_at(int angle, const SinogramPlace& place, double weight, const Add& add) const {
    const Pair s = about(static_cast<double>(place.s), radial_mm, size[0]),
               a = about(static_cast<double>(place.z_a), axial_mm, size[2]),
               b = about(static_cast<double>(place.z_b), axial_mm, size[3]);
    for (int corner = 0; corner < 8; ++corner) {
      const int ds = corner & 1, da = corner >> 1 & 1, db = corner >> 2;
      const double share = weight * s.share[ds] * a.share[da] * b.share[db];
      if (!(share > 0)) continue;
      const std::int64_t line =
          s.first + ds +
          std::int64_t{size[0]} *
              (angle + std::int64_t{size[1]} * (a.first + da + std::int64_t{size[2]} * (b.first + db)));
      lay_down_tof(line, place, share, add);
    }
  }

  template <class Add>
  TOFSTREAM_HOST_DEVICE void lay_down_tof(std::int64_t line, const SinogramPlace& place, double weight,
                                          const Add& add) const {
    if (size[4] == 1) return add(line, weight);
    constexpr double cut = 5, root_of_two_pi = 2.50662827463100050;
    const double middle = 0.5 * (size[4] - 1), reach = cut * tof_sigma_mm / tof_mm;
    const double at = static_cast<double>(place.tof) / tof_mm + middle;
    const double low = std::ceil(at - reach), high = std::floor(at + reach);
    const int first = low > 0 ? static_cast<int>(low) : 0;
    const int last = high < size[4] - 1 ? static_cast<int>(high) : size[4] - 1;
    for (int t = first; t <= last; ++t) {
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
    constexpr double pi = 3.14159265358979324;
    CounterRandom random(seed, number);
    const Vec3d at = decays.draw(random);
    if (at.x * at.x + at.y * at.y >= radius_mm * radius_mm) return {};
    const double cosine = 2 * random.uniform() - 1;
    const Vec3d direction = turned({0, 0, 1}, cosine, 2 * pi * random.uniform());
    Photon one{at, direction}, two{at, -1.0 * direction};
    double weight = 1;
    for (Photon* const photon : {&one, &two}) {
      weight *= arrives(*photon, random);
      if (!(weight > 0)) return {};
    }
    if (one.scatters + two.scatters < from_order) return {};
    const Lor lor{one.at_mm.as<float>(), two.at_mm.as<float>(), static_cast<float>(0.5 * (one.path_mm - two.path_mm))};
    const SinogramPlace place = sinogram_place(lor);
    return {place, weight * over_own(one.at_mm, two.at_mm, static_cast<double>(place.s))};
  }

 private:
  /// Follows a photon to the detectors; how many of it are recorded, relative to one of 511 keV that is stopped.
  template <class Random>
  TOFSTREAM_HOST_DEVICE double arrives(Photon& photon, Random& random) const {
    if (!leaves(photon, matter, least_keV, random)) return 0;
    const Vec3d p = photon.at_mm, u = photon.direction;
    const double across = u.x * u.x + u.y * u.y, outwards = p.x * u.x + p.y * u.y;
    const double root = outwards * outwards - across * (p.x * p.x + p.y * p.y - radius_mm * radius_mm);
    if (!(across > 0 && root > 0)) return 0;
    const double way = (std::sqrt(root) - outwards) / across;
    photon.at_mm = p + way * u;
    photon.path_mm += way;
    if (!(std::abs(photon.at_mm.z) <= half_length_mm)) return 0;
    const double facing = (photon.at_mm.x * u.x + photon.at_mm.y * u.y) / radius_mm;
    const auto more = static_cast<float>(crystal_attenuation_ratio(photon.energy_keV));
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
