// Means of live fractions over pairs and over time: see live_time.hpp.
#include "gadgets/io/petsird/live_time.hpp"

#include <algorithm>
#include <cmath>
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
  double all = 0, live = 0;
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
      sums.back().live += efficiency * (fractions ? checked(block, (*fractions)[bin]) : 1.0);
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

}  // namespace

void LiveTime::add(const DeadTimeBlock& block, std::int64_t shift_ms) {
  const Scanner& scanner = *scanner_;
  const std::vector<ModuleSum> sums = module_sums(scanner, block);
  const std::size_t modules = sums.size();
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
          weight += pairs;
          sum += pairs * live;
          squares += pairs * live * live;
        }
  if (!(weight > 0)) return;
  const double mean = sum / weight;
  fraction_from_s_[1e-3 * static_cast<double>(block.interval.start_ms + shift_ms)] = mean;
  if (mean > 0) spread_ = std::max(spread_, std::sqrt(std::max(squares / weight - mean * mean, 0.0)) / mean);
}

double LiveTime::mean(double start_s, double duration_s) const {
  if (fraction_from_s_.empty()) return 1;
  auto at = fraction_from_s_.upper_bound(start_s);
  if (at != fraction_from_s_.begin()) --at;
  if (!(duration_s > 0)) return at->second;
  const double end_s = start_s + duration_s;
  double sum = 0;
  for (double from_s = start_s; from_s < end_s; ++at) {
    const auto next = std::next(at);
    const double to_s = next == fraction_from_s_.end() ? end_s : std::clamp(next->first, from_s, end_s);
    sum += (to_s - from_s) * at->second;
    from_s = to_s;
  }
  return sum / duration_s;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
