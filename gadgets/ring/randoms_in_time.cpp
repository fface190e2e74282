// Fits of delayeds and of singles by time: see randoms_in_time.hpp.
#include "gadgets/ring/randoms_in_time.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "kernels/correct/decay.hpp"
#include "kernels/ring/correct/singles_randoms.hpp"
#include "kernels/types/host_batch.hpp"

namespace tofstream {

namespace {

/// The counts of each detector by time.
std::vector<double> rates_of_fans(const DelayedCounts& counts, double seconds) {
  std::vector<double> rates;
  rates.reserve(counts.fans().size());
  for (const std::int64_t count : counts.fans()) rates.push_back(static_cast<double>(count) / seconds);
  return rates;
}

}  // namespace

void CoveredTime::add(const EventBatch& batch) {
  begin_s = std::min(begin_s, batch.start_s);
  end_s = std::max(end_s, batch.start_s + batch.duration_s);
  sum_s += batch.duration_s;
}

// By the middle of the time.
std::int64_t RandomsInTime::interval_of(double start_s, double duration_s) const {
  if (p_.interval_s == 0) return 0;
  return static_cast<std::int64_t>(std::floor((start_s + 0.5 * duration_s) / p_.interval_s));
}

RandomsInTime::Interval& RandomsInTime::at(double start_s, double duration_s) {
  Interval& interval = intervals_[interval_of(start_s, duration_s)];
  constexpr std::size_t most_intervals = 2000;  // each holds some numbers a detector
  if (intervals_.size() > most_intervals)
    throw std::runtime_error(
        fmt::format("randoms: the scan has more than {} intervals of {:g} s: give a longer interval_s", most_intervals,
                    p_.interval_s));
  return interval;
}

// In a live stream the interval of the events has only begun: the last one before it that has counts is taken.
std::int64_t RandomsInTime::used_for(const EventBatch& events) const {
  const std::int64_t own = interval_of(events.start_s, events.duration_s);
  if (p_.use == RandomsUse::whole_scan || p_.interval_s == 0) return own;
  for (auto earlier = std::make_reverse_iterator(intervals_.lower_bound(own)); earlier != intervals_.rend(); ++earlier)
    if (earlier->second.size() > 0) return earlier->first;
  return own;
}

void RandomsInTime::add_prompts(const EventBatch& prompts) {
  Interval& interval = at(prompts.start_s, prompts.duration_s);
  interval.prompts.add(prompts);
  if (prompts.scanner) scanner_ = prompts.scanner;
  if (p_.from != RandomsFrom::singles || !prompts.scanner || prompts.count == 0) return;
  if (!interval.partners) interval.partners.emplace(*prompts.scanner);
  if (on_host(prompts.memory()))
    interval.partners->add(prompts);
  else
    interval.partners->add(host_batch(prompts));
}

void RandomsInTime::add_delayeds(const EventBatch& delayeds) {
  if (!delayeds.scanner) throw std::runtime_error("the delayed coincidences do not say which scanner recorded them");
  Interval& interval = at(delayeds.start_s, delayeds.duration_s);
  if (!interval.counts) interval.counts.emplace(*delayeds.scanner);
  interval.counts->add(delayeds);
  interval.delayeds += delayeds.count;
  interval.of_delayeds.add(delayeds);
  interval.live.add(delayeds.live, delayeds.duration_s * delayeds.exposure);
  all_delayeds_ += delayeds.count;
}

void RandomsInTime::add_singles(const EventBatch& batch) {
  const SinglesCounts& singles = *batch.singles;
  if (!singles.unusable.empty())
    throw std::runtime_error(fmt::format("randoms cannot be estimated from singles: {}", singles.unusable));
  if (!(singles.duration_s > 0))
    throw std::runtime_error(
        fmt::format("randoms: the singles histogram at {:g} s covers no time, and so gives no rate", singles.start_s));
  window_s_ = p_.window_ns > 0 ? 1e-9 * p_.window_ns : singles.window_s;
  if (!(window_s_ > 0))
    throw std::runtime_error(
        "randoms: the recording does not say how wide the coincidence window is, or has several: give "
        "randoms.window_ns, all differences of times from end to end");
  multiples_rejected_ = singles.multiples_rejected;
  at(singles.start_s, singles.duration_s).singles.add(singles);
  all_singles_.add(singles);
  rate_.add(singles);
}

void RandomsInTime::finish() {
  if (scanner_) fit_all(*scanner_);
}

std::int64_t RandomsInTime::intervals_without() const {
  return std::ranges::count_if(intervals_,
                               [](const auto& one) { return one.second.prompts.sum_s > 0 && one.second.size() == 0; });
}

double RandomsInTime::mean_cps() const {
  double seconds = 0, counts = 0;
  for (const auto& [number, interval] : intervals_) {
    seconds += p_.from == RandomsFrom::singles ? interval.prompts.sum_s : available(interval).sum_s;
    counts += interval.model_cps * interval.prompts.sum_s;
  }
  if (p_.from != RandomsFrom::singles) counts = static_cast<double>(all_delayeds_);
  return seconds > 0 ? counts / seconds : 0;
}

std::vector<double> RandomsInTime::cps_of_intervals() const {
  std::vector<double> rates;
  for (const auto& [number, interval] : intervals_) {
    const double seconds = available(interval).sum_s;
    if (p_.from == RandomsFrom::singles)
      rates.push_back(interval.model_cps);
    else
      rates.push_back(seconds > 0 ? static_cast<double>(interval.delayeds) / seconds : 0);
  }
  return rates;
}

std::string RandomsInTime::in_words() const {
  if (p_.from == RandomsFrom::delayeds) return "delayed coincidences";
  return fmt::format("singles, window {:g} ns, {}", 1e9 * window_s_,
                     multiples_rejected_ ? "multiples rejected (singles-prompts method)" : "all coincidences kept");
}

void RandomsInTime::fit(const EventBatch& events) {
  if (!events.scanner) throw std::runtime_error("randoms need events that say which scanner recorded them");
  fit(intervals_[used_for(events)], *events.scanner);
}

void RandomsInTime::fit_all(const Scanner& scanner) {
  for (auto& [number, interval] : intervals_) fit(interval, scanner);
}

// The fit is repeated when the number of counts has grown by a tenth.
void RandomsInTime::fit(Interval& interval, const Scanner& scanner) {
  if (interval.model && 10 * interval.size() <= 11 * interval.fitted) return;
  if (p_.from == RandomsFrom::singles)
    fit_singles(interval, scanner);
  else
    fit_delayeds(interval, scanner);
  interval.fitted = interval.size();
}

void RandomsInTime::fit_delayeds(Interval& interval, const Scanner& scanner) {
  if (!interval.counts) interval.counts.emplace(scanner);
  const double seconds = available(interval).sum_s;
  if (interval.delayeds > 0 && !(seconds > 0))
    throw std::runtime_error("the events state no scan time, so their delayed coincidences give no rate of randoms");
  interval.model = std::make_shared<const RandomsModel>(
      randoms_from_delayeds(scanner, *interval.counts, interval.delayeds > 0 ? seconds : 1.0, interval.live.get()));
  interval.of_fit = available(interval);
}

void RandomsInTime::fit_singles(Interval& interval, const Scanner& scanner) {
  const auto detectors = static_cast<std::size_t>(scanner.detectors->size());
  if (interval.singles.empty()) {
    interval.model = std::make_shared<const RandomsModel>(RandomsModel{std::vector<float>(detectors, 0.0f)});
    return;
  }
  RandomsModel model;
  if (!multiples_rejected_) {
    model = randoms_from_singles(scanner, interval.singles.rates_cps(), window_s_);
  } else {
    const double seconds = interval.prompts.sum_s;
    if (interval.partners && interval.partners->total() > 0 && !(seconds > 0))
      throw std::runtime_error("the events state no scan time, and the singles-prompts method needs their rate");
    const std::vector<double> prompts =
        interval.partners && seconds > 0 ? rates_of_fans(*interval.partners, seconds) : std::vector<double>(detectors);
    SinglesPromptsRandoms made =
        randoms_from_singles_and_prompts(scanner, interval.singles.rates_cps(), prompts, window_s_);
    below_prompts_ = made.below_prompts;
    model = std::move(made.model);
  }
  interval.model_rate2 = interval.singles.cps() * interval.singles.cps();
  const std::vector<double> factors(model.factor.begin(), model.factor.end());
  const CoveredTime& covered = interval.prompts;
  const double changed =
      covered.sum_s > 0 ? rate_.mean_square(covered.begin_s, covered.end_s - covered.begin_s) / interval.model_rate2
                        : 1;
  interval.model_cps = changed * CoincidenceSums(scanner).total(factors);
  interval.model = std::make_shared<const RandomsModel>(std::move(model));
}

// Singles are proportional to the activity, randoms to its square, which halves the half-life.
RandomsInTime::Rate RandomsInTime::of(const EventBatch& events) const {
  const Interval& interval = intervals_.at(used_for(events));
  if (p_.from == RandomsFrom::singles) {
    if (!(interval.model_rate2 > 0)) return {interval.model};
    return {interval.model, rate_.mean_square(events.start_s, events.duration_s) / interval.model_rate2};
  }
  if (half_life_s_ == 0 || interval.delayeds == 0) return {interval.model};
  const double from_s = interval.of_fit.begin_s;
  return {interval.model, mean_decay(events.start_s - from_s, events.duration_s, 0.5 * half_life_s_) /
                              mean_decay(0, interval.of_fit.end_s - from_s, 0.5 * half_life_s_)};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
