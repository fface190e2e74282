// Randoms by delayed coincidences or by singles histograms: one fit of the whole scan, one an interval of it, or one of
// what has come so far.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gadgets/ring/event_corrections.hpp"
#include "gadgets/ring/singles_in_time.hpp"
#include "kernels/ring/correct/randoms.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/live_pattern.hpp"

namespace tofstream {

/// The scan time that batches cover.
struct CoveredTime {
  double begin_s = std::numeric_limits<double>::infinity(), end_s = -begin_s, sum_s = 0;
  void add(const EventBatch& batch);
};

class RandomsInTime {
 public:
  /// `half_life_s`: randoms of delayeds fall with the square of the activity about the mean of a fit; 0: they do not.
  /// Those of singles follow the square of the rate of all singles.
  RandomsInTime(const RandomsParams& params, double half_life_s) : p_(params), half_life_s_(half_life_s) {}

  /// Prompts, of which singles histograms that came earlier need the rates. Throws std::runtime_error for more
  /// intervals than are kept.
  void add_prompts(const EventBatch& prompts);
  /// Throws std::runtime_error for delayeds of an unknown scanner, or of more intervals than are kept.
  void add_delayeds(const EventBatch& delayeds);
  /// Takes batch.singles. Throws std::runtime_error, in one line, for histograms that give no rate of each detector,
  /// and where the coincidence window is not known.
  void add_singles(const EventBatch& batch);

  std::int64_t delayeds() const { return all_delayeds_; }
  std::uint64_t singles() const { return all_singles_.total(); }
  /// Whether there is something that estimates randoms.
  bool has_any() const { return delayeds() > 0 || singles() > 0; }
  /// At the end of the stream: makes the fits that no events needed, for the figures below.
  void finish();
  /// Intervals with prompts and nothing that estimates their randoms.
  std::int64_t intervals_without() const;
  /// The mean rate of randoms over all pairs; 0 where no time is known for them.
  double mean_cps() const;
  /// The rate in each interval, in time order; 0 for one without anything that estimates its randoms.
  std::vector<double> cps_of_intervals() const;
  /// How randoms were estimated, in words.
  std::string in_words() const;
  /// Detectors of the last fit whose singles were fewer than their prompts.
  std::int64_t below_prompts() const { return below_prompts_; }

  /// Makes the fits that `events` needs and does not have; of the whole scan, in `fit_all`, all that there are. Throws
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
    std::optional<DelayedCounts> counts;    // delayeds
    std::optional<DelayedCounts> partners;  // prompts that each detector took part in, where singles need them
    SinglesSum singles;
    MeanLivePattern live;  // of delayeds
    std::int64_t delayeds = 0;
    std::uint64_t fitted = 0;  // delayeds or singles in the present fit
    CoveredTime prompts, of_delayeds, of_fit;
    double model_cps = 0;    // of all pairs, in the present fit
    double model_rate2 = 0;  // square of the singles' rate in it
    std::shared_ptr<const RandomsModel> model;

    std::uint64_t size() const { return static_cast<std::uint64_t>(delayeds) + singles.total(); }
  };
  Interval& at(double start_s, double duration_s);
  std::int64_t interval_of(double start_s, double duration_s) const;
  std::int64_t used_for(const EventBatch& events) const;
  // The time of a whole scan comes from its prompts; in a live one the delayeds say how much of it they cover.
  const CoveredTime& available(const Interval& interval) const {
    return p_.use == RandomsUse::whole_scan ? interval.prompts : interval.of_delayeds;
  }
  void fit(Interval& interval, const Scanner& scanner);
  void fit_delayeds(Interval& interval, const Scanner& scanner);
  void fit_singles(Interval& interval, const Scanner& scanner);

  RandomsParams p_;
  double half_life_s_;
  std::map<std::int64_t, Interval> intervals_;
  std::int64_t all_delayeds_ = 0, below_prompts_ = 0;
  SinglesSum all_singles_;
  SinglesRate rate_;
  double window_s_ = 0;
  bool multiples_rejected_ = false;
  std::shared_ptr<const Scanner> scanner_;  // of the prompts
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
