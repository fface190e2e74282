// Live fractions of modules by their singles: see module_live_time.hpp.
#include "gadgets/ring/module_live_time.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "kernels/ring/correct/module_singles.hpp"

namespace tofstream {

void ModuleLiveTime::add(const EventBatch& batch) {
  const SinglesCounts& singles = *batch.singles;
  if (!singles.unusable.empty())
    throw std::runtime_error(fmt::format("dead time cannot be known from singles: {}", singles.unusable));
  const Scanner& scanner = *batch.scanner;
  if (times_.dead_time_us.size() != scanner.modules())
    throw std::runtime_error(fmt::format("{} dead times for the {} modules of scanner {}: one for each is needed",
                                         times_.dead_time_us.size(), scanner.modules(), scanner.name));
  if (!(singles.duration_s > 0)) return;
  const std::vector<double> counts = singles_of_modules(scanner, singles);
  std::vector<double> live;
  for (std::size_t m = 0; m < counts.size(); ++m) try {
      live.push_back(live_fraction(counts[m] / singles.duration_s, 1e-6 * times_.dead_time_us[m], times_.model));
    } catch (const std::invalid_argument& error) {
      throw std::runtime_error(fmt::format("module {} at {:g} s: {}", m, singles.start_s, error.what()));
    }
  from_s_[singles.start_s] = live_of_pairs(scanner, live);
}

void ModuleLiveTime::forget_before(double at_s) {
  auto first = from_s_.upper_bound(at_s);
  if (first != from_s_.begin()) --first;
  from_s_.erase(from_s_.begin(), first);
}

template <class Visit>
void ModuleLiveTime::for_each_part(const EventBatch& batch, const Visit& visit) const {
  if (from_s_.empty())
    throw std::runtime_error(
        "no singles histogram has come before the first events, so their dead time is not known: the recording has "
        "none "
        "so early, or the decoder gives only prompts (its `events: both` gives them too)");
  auto at = from_s_.upper_bound(batch.start_s);
  if (at != from_s_.begin()) --at;
  if (!(batch.duration_s > 0)) return visit(at->second, 1.0);
  const double end_s = batch.start_s + batch.duration_s;
  for (double from_s = batch.start_s; from_s < end_s; ++at) {
    const auto next = std::next(at);
    const double to_s = next == from_s_.end() ? end_s : std::clamp(next->first, from_s, end_s);
    if (to_s > from_s) visit(at->second, to_s - from_s);
    from_s = to_s;
  }
}

double ModuleLiveTime::mean(const EventBatch& batch) const {
  double sum = 0;
  for_each_part(batch, [&](const PairLive& part, double seconds) { sum += seconds * part.mean; });
  return batch.duration_s > 0 ? sum / batch.duration_s : sum;
}

std::shared_ptr<const LivePattern> ModuleLiveTime::pattern(const EventBatch& batch) const {
  MeanLivePattern mean;
  for_each_part(batch, [&](const PairLive& part, double seconds) { mean.add(part.pattern, seconds * part.mean); });
  return mean.get();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
