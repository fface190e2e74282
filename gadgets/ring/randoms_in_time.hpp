// Randoms by fits to delayed coincidences: one of the whole scan, one an interval of it, or one of what has come so far.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "gadgets/ring/event_corrections.hpp"
#include "kernels/ring/correct/randoms.hpp"
#include "kernels/types/events.hpp"

namespace tofstream {

/// The scan time that batches cover.
struct CoveredTime {
  double begin_s = std::numeric_limits<double>::infinity(), end_s = -begin_s, sum_s = 0;
  void add(const EventBatch& batch);
};

class RandomsInTime {
 public:
  /// `half_life_s`: randoms fall with the square of the activity about the mean of a fit; 0: they do not.
  RandomsInTime(const RandomsParams& params, double half_life_s) : p_(params), half_life_s_(half_life_s) {}

  void add_prompts(const EventBatch& prompts) { intervals_[interval_of(prompts)].prompts.add(prompts); }
  /// Throws std::runtime_error for delayeds of an unknown scanner, or of more intervals than are kept.
  void add_delayeds(const EventBatch& delayeds);

  std::int64_t delayeds() const { return all_delayeds_; }
  /// The delayeds' mean rate; 0 where no time is known for them.
  double mean_cps() const;
  /// Of each interval, in time order; 0 for one without prompts.
  std::vector<double> cps_of_intervals() const;

  /// Makes the fits that `events` needs and does not have; of the whole scan, in `everything`, all that there are. Throws
  /// std::runtime_error where the events state no time or no scanner.
  void fit(const EventBatch& events);
  void fit_all(const Scanner& scanner);

  struct Rate {
    std::shared_ptr<const RandomsModel> model;
    double scale = 1;  // of the batch's time: rate then / the model's
  };
  /// After fit() or fit_all().
  Rate of(const EventBatch& events) const;

 private:
  struct Interval {
    std::optional<DelayedCounts> counts;
    std::int64_t delayeds = 0, fitted = 0;  // so far, and in the present fit
    CoveredTime prompts, of_delayeds, of_fit;
    std::shared_ptr<const RandomsModel> model;
  };
  std::int64_t interval_of(const EventBatch& batch) const;
  // The time of a whole scan comes from its prompts; in a live one the delayeds say how much of it they cover.
  const CoveredTime& available(const Interval& interval) const {
    return p_.use == RandomsUse::whole_scan ? interval.prompts : interval.of_delayeds;
  }
  void fit(Interval& interval, const Scanner& scanner) const;

  RandomsParams p_;
  double half_life_s_;
  std::map<std::int64_t, Interval> intervals_;
  std::int64_t all_delayeds_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
