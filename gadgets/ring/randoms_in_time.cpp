// Fits of delayeds by time: see randoms_in_time.hpp.
#include "gadgets/ring/randoms_in_time.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "kernels/correct/decay.hpp"

namespace tofstream {

void CoveredTime::add(const EventBatch& batch) {
  begin_s = std::min(begin_s, batch.start_s);
  end_s = std::max(end_s, batch.start_s + batch.duration_s);
  sum_s += batch.duration_s;
}

// By the middle of the batch's time.
std::int64_t RandomsInTime::interval_of(const EventBatch& batch) const {
  if (p_.interval_s == 0) return 0;
  return static_cast<std::int64_t>(std::floor((batch.start_s + 0.5 * batch.duration_s) / p_.interval_s));
}

void RandomsInTime::add_delayeds(const EventBatch& delayeds) {
  if (!delayeds.scanner) throw std::runtime_error("the delayed coincidences do not say which scanner recorded them");
  Interval& interval = intervals_[interval_of(delayeds)];
  constexpr std::size_t most_intervals = 2000;  // each holds a number a detector
  if (intervals_.size() > most_intervals)
    throw std::runtime_error(
        fmt::format("randoms: the scan has more than {} intervals of {:g} s: give a longer interval_s", most_intervals,
                    p_.interval_s));
  if (!interval.counts) interval.counts.emplace(*delayeds.scanner);
  interval.counts->add(delayeds);
  interval.delayeds += delayeds.count;
  interval.of_delayeds.add(delayeds);
  all_delayeds_ += delayeds.count;
}

double RandomsInTime::mean_cps() const {
  double seconds = 0;
  for (const auto& [number, interval] : intervals_) seconds += available(interval).sum_s;
  return seconds > 0 ? static_cast<double>(all_delayeds_) / seconds : 0;
}

std::vector<double> RandomsInTime::cps_of_intervals() const {
  std::vector<double> rates;
  for (const auto& [number, interval] : intervals_) {
    const double seconds = available(interval).sum_s;
    rates.push_back(seconds > 0 ? static_cast<double>(interval.delayeds) / seconds : 0);
  }
  return rates;
}

void RandomsInTime::fit(const EventBatch& events) {
  if (!events.scanner) throw std::runtime_error("randoms need events that say which scanner recorded them");
  fit(intervals_[interval_of(events)], *events.scanner);
}

void RandomsInTime::fit_all(const Scanner& scanner) {
  for (auto& [number, interval] : intervals_) fit(interval, scanner);
}

// The fit is repeated when the number of delayeds has grown by a tenth.
void RandomsInTime::fit(Interval& interval, const Scanner& scanner) const {
  if (interval.model && 10 * interval.delayeds <= 11 * interval.fitted) return;
  if (!interval.counts) interval.counts.emplace(scanner);
  const double seconds = available(interval).sum_s;
  if (interval.delayeds > 0 && !(seconds > 0))
    throw std::runtime_error("the events state no scan time, so their delayed coincidences give no rate of randoms");
  interval.model = std::make_shared<const RandomsModel>(
      randoms_from_delayeds(scanner, *interval.counts, interval.delayeds > 0 ? seconds : 1.0));
  interval.fitted = interval.delayeds;
  interval.of_fit = available(interval);
}

// Singles are proportional to the activity, randoms to its square, which halves the half-life.
RandomsInTime::Rate RandomsInTime::of(const EventBatch& events) const {
  const Interval& interval = intervals_.at(interval_of(events));
  if (half_life_s_ == 0 || interval.delayeds == 0) return {interval.model};
  const double from_s = interval.of_fit.begin_s;
  return {interval.model, mean_decay(events.start_s - from_s, events.duration_s, 0.5 * half_life_s_) /
                              mean_decay(0, interval.of_fit.end_s - from_s, 0.5 * half_life_s_)};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
