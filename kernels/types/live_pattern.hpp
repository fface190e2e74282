// How the live fractions of pairs of modules differ: the factors by which dead time treats them unlike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tofstream {

/// The live fraction of each pair of modules, divided by the mean that a batch's exposure or a whole scan has: a factor
/// of the efficiency of every pair of detectors of these modules.
struct LivePattern {
  std::uint32_t modules = 0;
  std::vector<float> factor;  // [module1 * modules + module2], symmetric

  float of(std::uint32_t module1, std::uint32_t module2) const {
    return factor[static_cast<std::size_t>(module1) * modules + module2];
  }
};

/// The mean of patterns, each weighted with the exposed time that it holds for; null stands for factors of 1.
class MeanLivePattern {
 public:
  /// Throws std::invalid_argument for patterns of unlike numbers of modules.
  void add(const std::shared_ptr<const LivePattern>& pattern, double exposed_s);
  void add(const MeanLivePattern& other);
  /// Null where all that was added is null, or nothing was.
  std::shared_ptr<const LivePattern> get() const;
  double exposed_s() const { return exposed_s_; }

 private:
  void begin(std::uint32_t modules);

  std::shared_ptr<const LivePattern> only_;  // where all that came is the same
  bool is_one_ = true;
  std::uint32_t modules_ = 0;
  std::vector<double> sum_;  // empty while only_ says all
  double exposed_s_ = 0;
};

/// The RMS of a / b - 1 over all pairs of modules where b is positive; null stands for factors of 1.
double rms_difference(const LivePattern* a, const LivePattern* b);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
