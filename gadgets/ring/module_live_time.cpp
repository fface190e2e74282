// Live fractions of modules by their singles: see module_live_time.hpp.
#include "gadgets/ring/module_live_time.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/ring/module_singles.hpp"

namespace tofstream {

namespace {

/// Sums of the detection bins' efficiencies, module after module.
std::vector<double> module_efficiencies(const Scanner& scanner) {
  std::vector<double> sums(scanner.modules());
  for (const ModuleType& type : scanner.types) {
    const std::uint64_t in_module = std::uint64_t{type.elements} * type.energy_bins;
    for (std::uint64_t bin = 0; bin < in_module * type.modules; ++bin)
      sums[type.first_module + static_cast<std::uint32_t>(bin / in_module)] +=
          scanner.bin_efficiency.empty() ? 1.0 : static_cast<double>(scanner.bin_efficiency[type.first_bin + bin]);
  }
  return sums;
}

}  // namespace

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
  from_s_[singles.start_s] = fractions_of(scanner, live);
}

ModuleLiveTime::Fractions ModuleLiveTime::fractions_of(const Scanner& scanner, const std::vector<double>& live) const {
  const std::vector<double> weight = module_efficiencies(scanner);
  const std::size_t modules = live.size();
  LivePattern pattern{.modules = static_cast<std::uint32_t>(modules),
                      .factor = std::vector<float>(modules * modules, 1)};
  double all = 0, sum = 0;
  for (std::size_t a = 0; a < modules; ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      if (scanner.module_pair.empty() ? a == b : scanner.module_pair[a * modules + b] < 0) continue;
      all += weight[a] * weight[b];
      sum += weight[a] * weight[b] * live[a] * live[b];
    }
  const double mean = all > 0 ? sum / all : 1;
  for (std::size_t a = 0; a < modules; ++a)
    for (std::size_t b = 0; b < modules; ++b)
      pattern.factor[a * modules + b] = static_cast<float>(live[a] * live[b] / mean);
  return {mean, std::make_shared<const LivePattern>(std::move(pattern))};
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
  for_each_part(batch, [&](const Fractions& part, double seconds) { sum += seconds * part.mean; });
  return batch.duration_s > 0 ? sum / batch.duration_s : sum;
}

std::shared_ptr<const LivePattern> ModuleLiveTime::pattern(const EventBatch& batch) const {
  MeanLivePattern mean;
  for_each_part(batch, [&](const Fractions& part, double seconds) { mean.add(part.pattern, seconds * part.mean); });
  return mean.get();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
