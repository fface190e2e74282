// The product model of randoms and its fit to delayeds: see randoms.hpp.
#include "kernels/ring/correct/randoms.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace tofstream {

namespace {

constexpr int most_iterations = 1000;
constexpr double tolerance = 1e-6;  // of a factor, from one iteration to the next

std::vector<double> detector_efficiencies(const Scanner& scanner) {
  std::vector<double> result(static_cast<std::size_t>(scanner.detectors->size()), 1.0);
  if (scanner.bin_efficiency.empty()) return result;
  for (const ModuleType& type : scanner.types)
    for (std::uint32_t d = 0; d < type.modules * type.elements; ++d) {
      double sum = 0;
      for (std::uint32_t e = 0; e < type.energy_bins; ++e)
        sum += static_cast<double>(scanner.bin_efficiency[type.first_bin + std::uint64_t{d} * type.energy_bins + e]);
      result[type.first_detector + d] = sum;
    }
  return result;
}

RandomsModel scaled(const std::vector<double>& s, double scale) {
  RandomsModel model;
  model.factor.reserve(s.size());
  for (const double value : s) model.factor.push_back(static_cast<float>(value * scale));
  return model;
}

}  // namespace

CoincidenceSums::CoincidenceSums(const Scanner& scanner, std::shared_ptr<const LivePattern> live)
    : scanner_(scanner), partners_(scanner.modules()), live_(std::move(live)) {
  const auto modules = static_cast<std::uint32_t>(partners_.size());
  for (const ModuleType& type : scanner.types)
    for (std::uint32_t d = 0; d < type.modules * type.elements; ++d)
      module_of_.push_back(type.first_module + d / type.elements);
  for (std::uint32_t m1 = 0; m1 < modules; ++m1)
    for (std::uint32_t m2 = 0; m2 <= m1; ++m2) {
      const bool counts = scanner.module_pair.empty()
                              ? m1 != m2
                              : scanner.module_pair[static_cast<std::size_t>(m1) * modules + m2] >= 0;
      if (!counts) continue;
      partners_[m1].push_back(m2);
      if (m1 != m2) partners_[m2].push_back(m1);
    }
}

std::vector<double> CoincidenceSums::fans(const std::vector<double>& s) const {
  const auto live = [this](std::size_t m1, std::uint32_t m2) {
    return live_ ? static_cast<double>(live_->of(static_cast<std::uint32_t>(m1), m2)) : 1.0;
  };
  std::vector<double> of_module(partners_.size()), of_partners(partners_.size());
  std::vector<bool> within(partners_.size());
  for (std::size_t d = 0; d < s.size(); ++d) of_module[module_of_[d]] += s[d];
  for (std::size_t m = 0; m < partners_.size(); ++m)
    for (const std::uint32_t partner : partners_[m]) {
      of_partners[m] += live(m, partner) * of_module[partner];
      within[m] = within[m] || partner == m;
    }
  std::vector<double> result(s.size());
  for (std::size_t d = 0; d < s.size(); ++d) {
    const std::uint32_t m = module_of_[d];
    result[d] = of_partners[m] - (within[m] ? live(m, m) * s[d] : 0.0);
  }
  return result;
}

double CoincidenceSums::total(const std::vector<double>& s) const {
  const std::vector<double> fan = fans(s);
  double twice = 0;
  for (std::size_t d = 0; d < s.size(); ++d) twice += s[d] * fan[d];
  return 0.5 * twice;
}

void DelayedCounts::add(const EventBatch& delayed) {
  if (!on_host(delayed.memory())) throw std::logic_error("delayeds are counted on the host: copy the batch first");
  if (!delayed.detectors || delayed.detectors->size() != static_cast<std::int64_t>(fan_.size()))
    throw std::invalid_argument("delayed coincidences must be of the scanner's detectors");
  const EventView events = delayed.view();
  for (std::int64_t i = 0; i < events.count; ++i) {
    ++fan_[events.detector1[i]];
    ++fan_[events.detector2[i]];
  }
  total_ += events.count;
}

RandomsModel randoms_from_delayeds(const Scanner& scanner, const DelayedCounts& delayeds, double seconds,
                                   std::shared_ptr<const LivePattern> live) {
  if (!(seconds > 0 && std::isfinite(seconds)))
    throw std::invalid_argument(fmt::format("delayeds of {} s of scan time give no rate", seconds));
  const bool has_pattern = live != nullptr;
  const CoincidenceSums sums(scanner, std::move(live));
  std::vector<double> s(delayeds.fans().begin(), delayeds.fans().end());
  const double total = static_cast<double>(delayeds.total());
  if (!(total > 0)) return scaled(s, 0);
  // The fan sums themselves are close already: only their scale is not.
  const double start = std::sqrt(total / sums.total(s));
  for (double& value : s) value *= start;
  for (int iteration = 0; iteration < most_iterations; ++iteration) {
    const std::vector<double> fan = sums.fans(s);
    double change = 0;
    for (std::size_t d = 0; d < s.size(); ++d) {
      if (!(s[d] > 0)) continue;
      const double next = std::sqrt(s[d] * static_cast<double>(delayeds.fans()[d]) / fan[d]);
      change = std::max(change, std::abs(next / s[d] - 1));
      s[d] = next;
    }
    if (change < tolerance) break;
  }
  RandomsModel model = scaled(s, std::sqrt(total / sums.total(s) / seconds));
  model.before_losses = has_pattern;
  return model;
}

RandomsModel randoms_of_rate(const Scanner& scanner, double total_cps) {
  if (!(total_cps >= 0 && std::isfinite(total_cps)))
    throw std::invalid_argument(fmt::format("a rate of randoms of {} per s cannot be", total_cps));
  const std::vector<double> efficiency = detector_efficiencies(scanner);
  const double pairs = CoincidenceSums(scanner).total(efficiency);
  if (!(pairs > 0)) throw std::invalid_argument("the scanner has no pair of detectors in coincidence");
  return scaled(efficiency, std::sqrt(total_cps / pairs));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
