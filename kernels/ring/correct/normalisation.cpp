// Scanners with other efficiencies: see normalisation.hpp.
#include "kernels/ring/correct/normalisation.hpp"

#include <cmath>
#include <cstdint>
#include <stdexcept>

#include <fmt/format.h>

namespace tofstream {

namespace {

void scale_tables(Scanner& scanner, const std::vector<float>& factors) {
  if (factors.empty()) return;
  if (factors.size() != scanner.pair_tables.size())
    throw std::invalid_argument(
        fmt::format("{} factors of classes for the {} tables of module pairs of scanner {}: one for each is needed",
                    factors.size(), scanner.pair_tables.size(), scanner.name));
  for (std::size_t k = 0; k < factors.size(); ++k) {
    if (!(factors[k] >= 0 && std::isfinite(factors[k])))
      throw std::invalid_argument(fmt::format("the factor of class {} of pairs cannot be {}", k, factors[k]));
    for (float& value : scanner.pair_tables[k].values) value *= factors[k];
  }
}

}  // namespace

std::shared_ptr<const Scanner> with_normalisation(const Scanner& scanner, const NormalisationComponents& components) {
  auto result = std::make_shared<Scanner>(scanner);
  if (!(components.calibration >= 0 && std::isfinite(components.calibration)))
    throw std::invalid_argument(fmt::format("a calibration factor of {} cannot be", components.calibration));
  if (components.calibration > 0) result->calibration = components.calibration;
  scale_tables(*result, components.class_factor);
  const auto& crystals = components.crystal_efficiency;
  if (crystals.empty()) return result;
  if (static_cast<std::int64_t>(crystals.size()) != scanner.detectors->size())
    throw std::invalid_argument(
        fmt::format("{} crystal efficiencies for the {} detectors of scanner {}: one for each is needed",
                    crystals.size(), scanner.detectors->size(), scanner.name));
  result->bin_efficiency.clear();
  for (const ModuleType& type : scanner.types)
    for (std::uint32_t d = 0; d < type.modules * type.elements; ++d) {
      const float efficiency = crystals[type.first_detector + d];
      if (!(efficiency >= 0 && std::isfinite(efficiency)))
        throw std::invalid_argument(
            fmt::format("the efficiency of detector {} cannot be {}", type.first_detector + d, efficiency));
      for (std::uint32_t e = 0; e < type.energy_bins; ++e)
        result->bin_efficiency.push_back(efficiency / static_cast<float>(type.energy_bins));
    }
  result->validate();
  return result;
}

std::shared_ptr<const Scanner> without_normalisation(const Scanner& scanner) {
  auto result = std::make_shared<Scanner>(scanner);
  result->calibration = 1;
  result->bin_efficiency.clear();
  result->pair_tables.clear();
  result->geometric = {};
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
