// Coincidences of which one photon was scattered once (Watson, Newport and Casey 1996; Ollinger, Phys Med Biol 41:153,
// 1996; with ToF: Watson, IEEE Trans Nucl Sci 54:1679, 2007).
//
// A decay at P sends its photons along one line, with density 1 / (2 pi) per sr. Of a line through an element dV at S
// and a detector A, the photon that goes to A is recorded and the other one is scattered in dV with probability mu_C
// per mm, into a sr about the direction to a detector B with probability p(theta), Klein and Nishina's. So a pair
// records
//
//   sum over dV of mu_C p(theta) W_A W_B / (2 pi a^2 b^2) (e_A integral_SA x + e_B integral_SB x) dV   counts per s,
//
// where a and b are the distances of A and B from S, W the detectors' responses (geometric_efficiency.hpp), and e_A =
// exp(-integral_SA mu - r integral_SB mu) g(E'), with r the ratio of Klein and Nishina's total cross sections and g of
// the shares that are stopped and accepted at the energy E' after the scatter and at 511 keV; e_B likewise. Divided by the pair's
// efficiency, W_A W_B / (2 pi d^2) with W at the pair's own line, this is what ScatterEstimate has, in units of x times
// mm, whatever the unit of x is: nothing is fitted.
//
// Left out: more than one scatter in a pair, coherent scatter (which hardly turns photons and lies under the source),
// and the spread of ToF by the crystals' depth. How much better crystals stop photons of less energy is that of one
// angle, at which photons come on average: at others it is off by 2 % at most.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/math/compton.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/ring/correct/scatter.hpp"
#include "kernels/ring/scatter/ray_image.hpp"
#include "kernels/ring/scatter/scatter_plan.hpp"
#include "kernels/types/geometric_efficiency.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

/// Compton's share of all attenuation in water at 511 keV (PENELOPE 2006: 0.0095719 of 0.0095953 per mm).
inline constexpr double compton_share_of_water = 0.9976;

/// Detectors on a cylinder about the scanner's axis, which they face.
struct ScatterDetectors {
  double radius_mm = 0;
  ElementResponse crystal = {1, 0, 1e3f};  // its area does not matter; here all photons are stopped
  EnergyAcceptance energy;
};

/// Where an estimate is sampled: see ScatterEstimate, whose values stay empty here.
struct ScatterSampling {
  ScatterEstimate lattice;
  double tof_sigma_mm = 0;  // of the scanner; needed where there is more than one sample of ToF

  /// Lines that pass within `reach_mm` of the axis, between ends up to `half_length_mm` from the middle; ToF samples a
  /// sigma apart, or none for a sigma of 0.
  static ScatterSampling of(double reach_mm, double half_length_mm, double tof_sigma_mm);
};

/// Throws std::invalid_argument, one line, for samples that cannot be: a lattice without lines, lines as far from the
/// axis as the detectors, ToF without a sigma.
void require_lines(const ScatterSampling& sampling, const ScatterDetectors& detectors);

class SingleScatter {
 public:
  /// In `mu_per_mm` (at 511 keV), in voxels, on any grid, on the host; of voxels smaller than 8 mm the means of blocks
  /// are taken. Cells of `point_mm` have one scatter point each, at their centre of mass, where their mean mu is at
  /// least `least_mu_per_mm`. Throws std::invalid_argument, one line, for a map of blobs, negative or non-finite
  /// values, mu that no matter has, no matter at all, a window or resolution that cannot be, detectors within the map.
  SingleScatter(const Image& mu_per_mm, const ScatterDetectors& detectors, double point_mm = 20,
                double least_mu_per_mm = 0.002);

  std::int64_t points() const { return static_cast<std::int64_t>(points_.size()); }
  /// Of what `activity` emits: in voxels, on any grid, on the host. The backends' results differ by rounding alone.
  /// Calls `progress` now and then with the number of points that are done. Throws std::invalid_argument for an image of
  /// blobs or with values that are negative or not finite, and for samples that cannot be.
  ScatterEstimate estimate(const Image& activity, const ScatterSampling& sampling, Backend backend = Backend::cpu,
                           const std::function<void(std::int64_t)>& progress = {}) const;

 private:
  void set_points(const Image& mu, double point_mm, double least_mu_per_mm);
  void set_table();
  void set_lines(const ScatterEstimate& lattice, ring_scatter::ScatterPlan& plan) const;
  void set_spectrum(const ScatterSampling& sampling, ring_scatter::ScatterPlan& plan) const;
  void set_legs(const ring_scatter::RayImage& activity, ring_scatter::ScatterPlan& plan) const;

  std::shared_ptr<const ring_scatter::RayImage> mu_;
  ScatterDetectors detectors_;
  std::vector<ring_scatter::ScatterPoint> points_;
  std::vector<ring_scatter::AngleEntry> angles_;  // by the cosine
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
