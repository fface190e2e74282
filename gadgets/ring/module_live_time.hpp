// Live fractions of pairs of modules from the singles that each counted and a model of its dead time.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "gadgets/ring/io/dead_time_yaml.hpp"
#include "kernels/ring/correct/module_live.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/live_pattern.hpp"

namespace tofstream {

/// A pair of modules records the share l_1 l_2 of its coincidences, with l the share of singles that a module does not
/// lose at the rate that it counts.
class ModuleLiveTime {
 public:
  explicit ModuleLiveTime(formats::ModuleDeadTimes times) : times_(std::move(times)) {}

  /// Takes batch.singles. Throws std::runtime_error, in one line, for histograms that are no rates of detectors,
  /// another number of modules than there are dead times, and a rate that a module with its dead time cannot count.
  void add(const EventBatch& batch);
  /// What held before a time alone is no longer needed.
  void forget_before(double at_s);
  /// The batch's mean live fraction over pairs in coincidence, weighted with their efficiencies, and its pattern. Each
  /// histogram holds from its start until the next, the first one's before it too. Throws std::runtime_error where none
  /// has come.
  double mean(const EventBatch& batch) const;
  std::shared_ptr<const LivePattern> pattern(const EventBatch& batch) const;

 private:
  template <class Visit>
  void for_each_part(const EventBatch& batch, const Visit& visit) const;

  formats::ModuleDeadTimes times_;
  std::map<double, PairLive> from_s_;  // from when on they hold
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
