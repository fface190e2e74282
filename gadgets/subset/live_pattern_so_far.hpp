// How live fractions of pairs of modules differ in the mean over the subsets so far, as the sensitivity is to have it.
#pragma once

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "kernels/types/live_pattern.hpp"

namespace tofstream {

/// Each new pattern costs a sensitivity, so one is kept until the mean differs from it by more than 1 %. What comes out
/// depends on what was added, and in which order, alone.
class LivePatternSoFar {
 public:
  /// The pattern of the first events, before there is a mean.
  void begin(std::shared_ptr<const LivePattern> first) { given_ = std::move(first); }
  void add(const std::shared_ptr<const LivePattern>& pattern, double exposed_s) { mean_.add(pattern, exposed_s); }
  /// The pattern that the sensitivity should have now.
  const std::shared_ptr<const LivePattern>& get() {
    constexpr double tolerance = 0.01;
    if (mean_.exposed_s() == 0) return given_;
    auto mean = mean_.get();
    if (rms_difference(mean.get(), given_.get()) > tolerance) given_ = std::move(mean);
    return given_;
  }

 private:
  MeanLivePattern mean_;
  std::shared_ptr<const LivePattern> given_;
};

/// How far subsets' own patterns are from that of the sensitivity which they are updated with.
class LivePatternMisfit {
 public:
  void note(const std::shared_ptr<const LivePattern>& of_subset,
            const std::shared_ptr<const LivePattern>& of_sensitivity) {
    if (of_subset != of_sensitivity)
      largest_ = std::max(largest_, rms_difference(of_subset.get(), of_sensitivity.get()));
  }
  void report(Context& context) const {
    constexpr double visible = 0.01;
    if (largest_ <= visible) return;
    context.report("live_fraction_misfit", largest_);
    context.log().warning(fmt::format(
        "live fractions of pairs of modules in a subset differ by up to {:.1f} % (RMS) from the mean that the "
        "sensitivity has, and the image leans towards the last subsets: cut: interleaved of subset_builder "
        "gives each subset the whole scan",
        100 * largest_));
  }

 private:
  double largest_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
