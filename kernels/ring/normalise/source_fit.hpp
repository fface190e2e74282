// How well the source that a scan was said to have explains where its events lie: counts by the place at which their
// lines pass the source, against the model's. Internal to the normalisation.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/math/vec3.hpp"
#include "kernels/simulate/phantom.hpp"

namespace tofstream {

/// The goodness of fit, as the normalisation states it.
struct SourceFit {
  double chi2 = 0;             // sum of (counted - expected)^2 / variance over the places with enough counts
  std::int64_t places = 0;     // of these
  double misfit = 0;           // RMS of counted / expected - 1 beyond Poisson noise, weighted by counts
  double beside = 0;           // events on lines that the source does not meet
  double beside_expected = 0;  // randoms there
  double chi2_per_place() const { return places > 0 ? chi2 / static_cast<double>(places) : 0; }
};

namespace detail {

/// Counts of lines by their point nearest to the axis through the source's middle: its distance from that axis, the
/// octant and z.
class SourceProfile {
 public:
  /// `margin_mm`: how far beside the source lines may pass.
  SourceProfile(const Phantom& source, double margin_mm);

  std::size_t places() const { return static_cast<std::size_t>(radii) * octants * slices; }
  std::size_t place(Vec3d p, Vec3d q) const;
  /// chi2, places and misfit of counts against expectations, which have a variance of their own; an entry a place.
  static SourceFit compare(const std::vector<double>& counted, const std::vector<double>& expected,
                           const std::vector<double>& variance);

 private:
  static constexpr int radii = 24, octants = 8, slices = 8;
  Vec3d middle_;
  double radius_mm_ = 0, low_mm_ = 0, high_mm_ = 0;
};

}  // namespace detail
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
