// Products of modules' live fractions: see module_live.hpp.
#include "kernels/ring/correct/module_live.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

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

PairLive live_of_pairs(const Scanner& scanner, const std::vector<double>& live_of_module) {
  const std::vector<double> weight = module_efficiencies(scanner);
  const std::size_t modules = weight.size();
  double all = 0, sum = 0;
  for (std::size_t a = 0; a < modules; ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      if (scanner.module_pair.empty() ? a == b : scanner.module_pair[a * modules + b] < 0) continue;
      all += weight[a] * weight[b];
      sum += weight[a] * weight[b] * live_of_module.at(a) * live_of_module.at(b);
    }
  const double mean = all > 0 ? sum / all : 1;
  LivePattern pattern{.modules = static_cast<std::uint32_t>(modules), .factor = {}};
  for (std::size_t a = 0; a < modules; ++a)
    for (std::size_t b = 0; b < modules; ++b)
      pattern.factor.push_back(static_cast<float>(live_of_module.at(a) * live_of_module.at(b) / mean));
  return {mean, std::make_shared<const LivePattern>(std::move(pattern))};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
