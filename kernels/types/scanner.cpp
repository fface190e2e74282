// Look-ups in a scanner's tables: see scanner.hpp.
#include "kernels/types/scanner.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace tofstream {

std::uint32_t Scanner::modules() const {
  return types.empty() ? 0 : types.back().first_module + types.back().modules;
}

std::uint32_t Scanner::type_index(std::uint32_t detector) const {
  const auto after = std::ranges::upper_bound(types, detector, {}, &ModuleType::first_detector);
  return static_cast<std::uint32_t>(after - types.begin()) - 1;
}

const ModuleType& Scanner::type_of(std::uint32_t detector) const {
  return types[type_index(detector)];
}

std::uint32_t Scanner::module_of(std::uint32_t detector) const {
  const ModuleType& type = type_of(detector);
  return type.first_module + (detector - type.first_detector) / type.elements;
}

bool Scanner::in_coincidence(std::uint32_t detector1, std::uint32_t detector2) const {
  const std::uint32_t m1 = module_of(detector1), m2 = module_of(detector2);
  if (module_pair.empty()) return m1 != m2;
  if (detector1 < detector2) return module_pair[static_cast<std::size_t>(m2) * modules() + m1] >= 0;
  return module_pair[static_cast<std::size_t>(m1) * modules() + m2] >= 0;
}

float Scanner::efficiency(std::uint32_t detector1, std::uint32_t detector2) const {
  if (detector1 < detector2) std::swap(detector1, detector2);  // later types have larger numbers
  if (!in_coincidence(detector1, detector2)) return 0;
  const ModuleType &t1 = type_of(detector1), &t2 = type_of(detector2);
  const std::uint32_t local1 = detector1 - t1.first_detector, local2 = detector2 - t2.first_detector;
  const ModulePairTable* table = nullptr;
  if (!pair_tables.empty()) {
    const auto row = static_cast<std::size_t>(module_of(detector1)) * modules() + module_of(detector2);
    table = &pair_tables[module_pair.empty() ? 0 : static_cast<std::size_t>(module_pair[row])];
  }
  double sum = 0;
  for (std::uint32_t e1 = 0; e1 < t1.energy_bins; ++e1) {
    for (std::uint32_t e2 = 0; e2 < t2.energy_bins; ++e2) {
      double product = 1;
      if (!bin_efficiency.empty())
        product = static_cast<double>(bin_efficiency[t1.first_bin + std::uint64_t{t1.energy_bins} * local1 + e1]) *
                  static_cast<double>(bin_efficiency[t2.first_bin + std::uint64_t{t2.energy_bins} * local2 + e2]);
      if (table) {
        const std::size_t row = local1 % t1.elements * t1.energy_bins + e1;
        const std::size_t column = local2 % t2.elements * t2.energy_bins + e2;
        product *= static_cast<double>(table->values[row * table->columns + column]);
      }
      sum += product;
    }
  }
  // Without any efficiency table energies are not told apart: a pair counts once, not once an
  // energy pair.
  if (bin_efficiency.empty() && !table) sum = 1;
  if (!geometric.empty())
    sum *=
        static_cast<double>(geometric.pair(module_of(detector1), local1 % t1.elements, detectors->position(detector1),
                                           module_of(detector2), local2 % t2.elements, detectors->position(detector2)));
  if (live) sum *= static_cast<double>(live->of(module_of(detector1), module_of(detector2)));
  return static_cast<float>(static_cast<double>(calibration) * sum);
}

void Scanner::validate() const {
  if (!detectors || detectors->size() == 0) throw std::invalid_argument("a scanner needs at least one detector");
  if (types.empty()) throw std::invalid_argument("a scanner needs at least one type of module");
  std::uint64_t detector = 0, module = 0, bin = 0;
  for (const ModuleType& type : types) {
    if (type.elements == 0 || type.energy_bins == 0 || type.first_detector != detector || type.first_module != module ||
        type.first_bin != bin)
      throw std::invalid_argument("a scanner's module types must follow one another without gaps");
    detector += std::uint64_t{type.modules} * type.elements;
    module += type.modules;
    bin += std::uint64_t{type.modules} * type.elements * type.energy_bins;
  }
  if (detector != static_cast<std::uint64_t>(detectors->size()))
    throw std::invalid_argument(
        fmt::format("module types describe {} detectors, the table has {}", detector, detectors->size()));
  if (!tof.empty() && tof.size() != types.size() * types.size())
    throw std::invalid_argument("a scanner needs one ToF model for each pair of module types");
  if (!bin_efficiency.empty() && bin_efficiency.size() != bin)
    throw std::invalid_argument(fmt::format("{} detection bins have {} efficiencies", bin, bin_efficiency.size()));
  if (!geometric.empty() && (types.size() != 1 || geometric.module_normals.size() != module ||
                             geometric.elements.size() != types[0].elements))
    throw std::invalid_argument(
        "geometric efficiencies need one type of module, a normal for each module and a response "
        "for each of its elements");
  if (!module_pair.empty() && module_pair.size() != module * module)
    throw std::invalid_argument(
        fmt::format("{} modules need {} module pairs, not {}", module, module * module, module_pair.size()));
  if (live && (live->modules != module || live->factor.size() != module * module))
    throw std::invalid_argument(
        fmt::format("live fractions of pairs of {} modules are not of this scanner's {}", live->modules, module));
  for (const std::int32_t group : module_pair)
    if (group >= 0 && !pair_tables.empty() && static_cast<std::size_t>(group) >= pair_tables.size())
      throw std::invalid_argument(
          fmt::format("a module pair names efficiency table {} of {}", group, pair_tables.size()));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
