// Means of live fractions over pairs and over time: see live_time.hpp.
#include "gadgets/io/petsird/live_time.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gadgets/io/petsird/error.hpp"

namespace tofstream::petsird {
namespace {

[[noreturn]] void refuse(const DeadTimeBlock& block, const std::string& what) {
  throw Error(
      fmt::format("PETSIRD dead-time block at {} ms: {}; get a stream whose live fractions fit its scanner, or "
                  "let the decoder leave them out (dead_time: false)",
                  block.interval.start_ms, what));
}

double checked(const DeadTimeBlock& block, float fraction) {
  if (!(fraction >= 0 && fraction <= 1)) refuse(block, fmt::format("a live fraction of {}", fraction));
  return static_cast<double>(fraction);
}

/// The sum of one module's efficiencies of bins, and that of efficiency x live fraction.
struct ModuleSum {
  double all = 0, live = 0, squares = 0;

  /// RMS deviation of the bins' fractions from their mean, relative to it.
  double spread() const {
    if (!(all > 0 && live > 0)) return 0;
    const double mean = live / all;
    return std::sqrt(std::max(squares / all - mean * mean, 0.0)) / mean;
  }
};

/// The modules' sums, type after type.
std::vector<ModuleSum> module_sums(const Scanner& scanner, const DeadTimeBlock& block) {
  const auto& singles = block.fractions.singles;
  if (!singles.empty() && singles.size() < scanner.types.size())
    refuse(block, fmt::format("live fractions of {} of {} types of modules", singles.size(), scanner.types.size()));
  std::vector<ModuleSum> sums;
  for (std::size_t t = 0; t < scanner.types.size(); ++t) {
    const ModuleType& type = scanner.types[t];
    const std::size_t in_module = std::size_t{type.elements} * type.energy_bins, bins = in_module * type.modules;
    const std::vector<float>* fractions = singles.empty() || singles[t].empty() ? nullptr : &singles[t];
    if (fractions && fractions->size() != bins)
      refuse(block, fmt::format("{} live fractions for {} detection bins", fractions->size(), bins));
    for (std::size_t bin = 0; bin < bins; ++bin) {
      if (bin % in_module == 0) sums.emplace_back();
      const double efficiency =
          scanner.bin_efficiency.empty() ? 1.0 : static_cast<double>(scanner.bin_efficiency[type.first_bin + bin]);
      sums.back().all += efficiency;
      const double fraction = fractions ? checked(block, (*fractions)[bin]) : 1.0;
      sums.back().live += efficiency * fraction;
      sums.back().squares += efficiency * fraction * fraction;
    }
  }
  return sums;
}

/// The fraction of two modules' electronics, of types t1 >= t2 and of numbers within them.
double pair_fraction(const DeadTimeBlock& block, std::size_t t1, std::uint32_t m1, std::size_t t2, std::uint32_t m2) {
  const auto& pairs = block.fractions.module_pairs;
  if (pairs.empty()) return 1;
  if (t1 >= pairs.size() || t2 >= pairs[t1].size()) refuse(block, "it lacks live fractions of some pair of types");
  const Table<float>& table = pairs[t1][t2];
  if (table.empty()) return 1;
  if (m1 >= table.size() || m2 >= table[m1].size()) refuse(block, "it lacks live fractions of some pair of modules");
  return checked(block, table[m1][m2]);
}

/// Ratios to the mean; 1 for pairs that are not in coincidence, which are marked by a negative fraction.
std::shared_ptr<const LivePattern> pattern_of(std::vector<float> fraction, std::size_t modules, double mean) {
  for (float& value : fraction) value = value < 0 ? 1.0f : static_cast<float>(static_cast<double>(value) / mean);
  return std::make_shared<const LivePattern>(
      LivePattern{.modules = static_cast<std::uint32_t>(modules), .factor = std::move(fraction)});
}

/// Adds a stretch to disjoint ones, joined with those that it meets.
void cover(std::map<double, double>& covered, double start_s, double stop_s) {
  auto at = covered.upper_bound(start_s);
  if (at != covered.begin() && std::prev(at)->second >= start_s) --at;
  while (at != covered.end() && at->first <= stop_s) {
    start_s = std::min(start_s, at->first);
    stop_s = std::max(stop_s, at->second);
    at = covered.erase(at);
  }
  covered[start_s] = stop_s;
}

}  // namespace

void LiveTime::add(const DeadTimeBlock& block, std::int64_t shift_ms) {
  const Scanner& scanner = *scanner_;
  const std::vector<ModuleSum> sums = module_sums(scanner, block);
  const std::size_t modules = sums.size();
  std::vector<float> fraction(modules * modules, -1.0f);  // of pairs in coincidence
  double weight = 0, sum = 0, squares = 0;
  for (std::size_t t1 = 0; t1 < scanner.types.size(); ++t1)
    for (std::size_t t2 = 0; t2 <= t1; ++t2)
      for (std::uint32_t m1 = 0; m1 < scanner.types[t1].modules; ++m1)
        for (std::uint32_t m2 = 0; m2 < (t1 == t2 ? m1 + 1 : scanner.types[t2].modules); ++m2) {
          const std::size_t row = scanner.types[t1].first_module + m1, column = scanner.types[t2].first_module + m2;
          const bool counts =
              scanner.module_pair.empty() ? row != column : scanner.module_pair[row * modules + column] >= 0;
          const double pairs = sums[row].all * sums[column].all;
          if (!counts || !(pairs > 0)) continue;
          const double live = sums[row].live * sums[column].live * pair_fraction(block, t1, m1, t2, m2) / pairs;
          fraction[row * modules + column] = fraction[column * modules + row] = static_cast<float>(live);
          weight += pairs;
          sum += pairs * live;
          squares += pairs * live * live;
        }
  if (!(weight > 0)) return;
  const double mean = sum / weight,
               spread = mean > 0 ? std::sqrt(std::max(squares / weight - mean * mean, 0.0)) / mean : 0;
  const double start_s = 1e-3 * static_cast<double>(block.interval.start_ms + shift_ms),
               stop_s = 1e-3 * static_cast<double>(block.interval.stop_ms + shift_ms);
  constexpr double rounding = 1e-6;
  from_s_[start_s] = {mean, spread > rounding ? pattern_of(std::move(fraction), modules, mean) : nullptr};
  spread_ = std::max(spread_, spread);
  for (const ModuleSum& module : sums) spread_in_modules_ = std::max(spread_in_modules_, module.spread());
  cover(covered_, start_s, stop_s);
}

template <class Visit>
void LiveTime::for_each_part(double start_s, double duration_s, const Visit& visit) const {
  auto at = from_s_.upper_bound(start_s);
  if (at != from_s_.begin()) --at;
  if (!(duration_s > 0)) return visit(*at, 1.0);
  const double end_s = start_s + duration_s;
  for (double from_s = start_s; from_s < end_s; ++at) {
    const auto next = std::next(at);
    const double to_s = next == from_s_.end() ? end_s : std::clamp(next->first, from_s, end_s);
    if (to_s > from_s) visit(*at, to_s - from_s);
    from_s = to_s;
  }
}

double LiveTime::mean(double start_s, double duration_s) const {
  if (from_s_.empty()) return 1;
  double sum = 0;
  for_each_part(start_s, duration_s, [&](const auto& part, double seconds) { sum += seconds * part.second.mean; });
  return duration_s > 0 ? sum / duration_s : sum;
}

std::shared_ptr<const LivePattern> LiveTime::pattern(double start_s, double duration_s) const {
  if (from_s_.empty()) return nullptr;
  MeanLivePattern mean;
  for_each_part(start_s, duration_s, [&](const auto& part, double seconds) {
    if (part.first < forgotten_before_s_)
      throw std::logic_error("live fractions of pairs of modules were asked for after they had been forgotten");
    mean.add(part.second.pattern, seconds * part.second.mean);
  });
  return mean.get();
}

void LiveTime::forget_patterns_before(double time_s) {
  auto last = from_s_.upper_bound(time_s);
  if (last == from_s_.begin()) return;
  --last;  // holds at that time
  for (auto at = from_s_.lower_bound(forgotten_before_s_); at != last && at->first < last->first; ++at)
    at->second.pattern = nullptr;
  forgotten_before_s_ = std::max(forgotten_before_s_, last->first);
}

std::optional<std::pair<double, double>> LiveTime::uncovered(double start_s, double end_s) const {
  constexpr double rounding_s = 2e-3;
  double from_s = start_s;
  for (const auto& [begin_s, stop_s] : covered_) {
    if (begin_s >= end_s) break;
    if (begin_s > from_s + rounding_s) return std::pair(from_s, begin_s);
    from_s = std::max(from_s, stop_s);
  }
  if (end_s > from_s + rounding_s) return std::pair(from_s, end_s);
  return std::nullopt;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
