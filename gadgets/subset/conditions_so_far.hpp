// The mean conditions of the subsets so far, as the sensitivity is to have them: live fractions of pairs of modules, and
// poses of the scanner.
#pragma once

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "kernels/types/conditions.hpp"

namespace tofstream {

/// Other conditions cost a sensitivity, so those given are kept until the mean differs from them by more than 1 %: of
/// live fractions, or of the time that is spent in each pose. What comes out depends on what was added, and in which
/// order, alone.
class ConditionsSoFar {
 public:
  /// Those of the first events, before there is a mean.
  void begin(Conditions first) { given_ = std::move(first); }
  void add(const Conditions& conditions, double exposed_s) { mean_.add(conditions, exposed_s); }
  /// Those that the sensitivity should have now.
  const Conditions& get() {
    constexpr double tolerance = 0.01;
    if (mean_.exposed_s() == 0) return given_;
    Conditions mean = mean_.get();
    if (rms_difference(mean.live.get(), given_.live.get()) > tolerance ||
        share_elsewhere(mean.poses.get(), given_.poses.get()) > tolerance)
      given_ = std::move(mean);
    return given_;
  }

 private:
  MeanConditions mean_;
  Conditions given_;
};

/// How far subsets' own conditions are from those of the sensitivity which they are updated with.
class ConditionsMisfit {
 public:
  /// `what_it_does`: to the image, as a warning says it.
  explicit ConditionsMisfit(const char* what_it_does = leans_to_last) : what_it_does_(what_it_does) {}
  void note(const Conditions& of_subset, const Conditions& of_sensitivity) {
    if (of_subset.live != of_sensitivity.live)
      live_ = std::max(live_, rms_difference(of_subset.live.get(), of_sensitivity.live.get()));
    if (of_subset.poses != of_sensitivity.poses)
      distance_mm_ = std::max(distance_mm_, mean_distance_mm(of_subset.poses.get(), of_sensitivity.poses.get()));
  }
  void report(Context& context) const {
    constexpr double visible = 0.01, visible_mm = 2;
    if (live_ > visible) {
      context.report("live_fraction_misfit", live_);
      context.log().warning(fmt::format(
          "live fractions of pairs of modules in a subset differ by up to {:.1f} % (RMS) from the mean that the "
          "sensitivity has, and {}",
          100 * live_, what_it_does_));
    }
    if (distance_mm_ > visible_mm) {
      context.report("pose_misfit_mm", distance_mm_);
      context.log().warning(
          fmt::format("the object's mean place in a subset is up to {:.1f} mm from that in the scan, whose sensitivity "
                      "all subsets have, and {}",
                      distance_mm_, what_it_does_));
    }
  }

 private:
  static constexpr const char* leans_to_last =
      "the image leans towards the last subsets: cut: interleaved of subset_builder gives each subset the whole scan";

  const char* what_it_does_;
  double live_ = 0, distance_mm_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
