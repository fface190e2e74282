// Rates of random coincidences. Two detectors count randoms at a rate proportional to the product of their singles
// rates, so r_ij = S_i S_j with one factor a detector (Casey and Hoffman, J. Comput. Assist. Tomogr. 10 (1986) 845):
// far fewer unknowns than pairs, and so far less noise than in the delayed coincidences of each pair.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/types/events.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

/// r_ij = factor[i] * factor[j], in counts per s of a pair in coincidence, all ToF bins together.
struct RandomsModel {
  std::vector<float> factor;   // one a detector, in 1/sqrt(s)
  bool before_losses = false;  // a batch's pattern of live fractions (EventBatch::live) is one more factor

  float rate(std::uint32_t detector1, std::uint32_t detector2) const { return factor[detector1] * factor[detector2]; }
};

/// Sums over the pairs in coincidence of a product of one number a detector, with one step a pair of modules.
class CoincidenceSums {
 public:
  /// Keeps a reference to the scanner. Each pair's product is multiplied with the pattern of its modules, if there is
  /// one.
  explicit CoincidenceSums(const Scanner& scanner, std::shared_ptr<const LivePattern> live = nullptr);
  /// For each detector i the sum of s_j over the detectors j in coincidence with it (its fan).
  std::vector<double> fans(const std::vector<double>& s) const;
  /// The sum over all pairs in coincidence, each once, of s_i s_j.
  double total(const std::vector<double>& s) const;

 private:
  const Scanner& scanner_;
  std::vector<std::uint32_t> module_of_;              // of each detector
  std::vector<std::vector<std::uint32_t>> partners_;  // of each module; itself where pairs within it count
  std::shared_ptr<const LivePattern> live_;
};

/// Delayed coincidences counted by detector: all that the estimate needs of them.
class DelayedCounts {
 public:
  explicit DelayedCounts(const Scanner& scanner) : fan_(static_cast<std::size_t>(scanner.detectors->size())) {}
  /// Throws std::invalid_argument for events with free ends or of another scanner's detectors, std::logic_error for a
  /// batch on a device.
  void add(const EventBatch& delayed);
  std::int64_t total() const { return total_; }
  /// Delayeds that each detector took part in.
  const std::vector<std::int64_t>& fans() const { return fan_; }

 private:
  std::vector<std::int64_t> fan_;
  std::int64_t total_ = 0;
};

/// The factors of maximum likelihood for Poisson counts of delayeds in `seconds` of scan time: those whose model gives
/// every detector the fan sum that was counted. Found by S_i <- sqrt(S_i D_i / sum_j S_j), to 1e-6. The estimate's
/// fan sums, and so the total, are those counted. With a pattern of live fractions, the mean over these seconds, the
/// model is r_ij = S_i S_j l_ij. Throws std::invalid_argument unless seconds is positive.
RandomsModel randoms_from_delayeds(const Scanner& scanner, const DelayedCounts& delayeds, double seconds,
                                   std::shared_ptr<const LivePattern> live = nullptr);

/// Randoms of `total_cps` counts per s over all pairs, each detector's singles in proportion to its efficiency (summed
/// over energy bins; alike where the scanner has none). Throws std::invalid_argument for a rate that is negative or not
/// finite, or a scanner none of whose pairs counts.
RandomsModel randoms_of_rate(const Scanner& scanner, double total_cps);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
