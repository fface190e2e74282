// The tables of the list of detector pairs: see pair_list.hpp.
#include "kernels/ring/sensitivity/pair_list.hpp"

namespace tofstream::detail {

namespace {

/// Puts a copy of `values` in the given memory into `kept`; null where there are none.
template <class T>
const T* place(Buffer<T>& kept, const std::vector<T>& values, Memory memory, Stream stream) {
  if (values.empty()) return nullptr;
  kept = Buffer<T>::from(values);
  if (!on_host(memory)) kept = kept.to(memory, stream);
  return kept.data();
}

}  // namespace

PairList::PairList(const Scanner& scanner, Memory memory, Stream stream) : scanner_(scanner) {
  const std::vector<PairModule> modules = list_modules();
  const std::vector<PairBlock> blocks = list_blocks(modules);
  view_.block_count = static_cast<std::int64_t>(blocks.size());
  view_.blocks = place(blocks_, blocks, memory, stream);
  view_.modules = place(modules_, modules, memory, stream);
  view_.tables = place(tables_, place_tables(memory, stream), memory, stream);
  view_.bin_efficiency = place(bin_efficiency_, scanner.bin_efficiency, memory, stream);
  view_.detector_efficiency = place(detector_efficiency_, summed_over_energies(), memory, stream);
  view_.normals = place(normals_, scanner.geometric.module_normals, memory, stream);
  view_.elements = place(elements_, scanner.geometric.elements, memory, stream);
  view_.detectors = scanner.detectors->on(memory);
  view_.calibration = scanner.calibration;
  view_.types = place(types_, scanner.types, memory, stream);
  view_.type_count = static_cast<int>(scanner.types.size());
  view_.module_count = scanner.modules();
  view_.module_pair = place(module_pair_, scanner.module_pair, memory, stream);
  if (scanner.live) view_.live = place(live_, scanner.live->factor, memory, stream);
}

std::vector<PairModule> PairList::list_modules() const {
  std::vector<PairModule> result;
  for (const ModuleType& type : scanner_.types)
    for (std::uint32_t m = 0; m < type.modules; ++m)
      result.push_back({type.first_detector + m * type.elements, type.elements, type.energy_bins,
                        type.first_bin + std::uint64_t{m} * type.elements * type.energy_bins});
  return result;
}

std::vector<PairBlock> PairList::list_blocks(const std::vector<PairModule>& modules) {
  std::vector<PairBlock> result;
  const auto table_of = [&](std::size_t m1, std::size_t m2) -> std::int32_t {
    return scanner_.module_pair.empty() ? 0 : scanner_.module_pair[m1 * modules.size() + m2];
  };
  for (std::uint32_t m1 = 0; m1 < modules.size(); ++m1)
    for (std::uint32_t m2 = 0; m2 <= m1; ++m2) {
      const bool coincident = scanner_.module_pair.empty() ? m1 != m2 : table_of(m1, m2) >= 0;
      const std::int64_t elements1 = modules[m1].elements, elements2 = modules[m2].elements;
      const std::int64_t pairs = m1 == m2 ? elements1 * (elements1 - 1) / 2 : elements1 * elements2;
      if (!coincident || pairs == 0) continue;
      result.push_back({view_.pairs, m1, m2, scanner_.pair_tables.empty() ? -1 : table_of(m1, m2)});
      view_.pairs += pairs;
    }
  return result;
}

std::vector<float> PairList::summed_over_energies() const {
  std::vector<float> result;
  if (scanner_.bin_efficiency.empty()) return result;
  for (const ModuleType& type : scanner_.types) {
    const std::uint64_t detectors = std::uint64_t{type.modules} * type.elements;
    for (std::uint64_t d = 0; d < detectors; ++d) {
      double sum = 0;
      for (std::uint32_t e = 0; e < type.energy_bins; ++e)
        sum += static_cast<double>(scanner_.bin_efficiency[type.first_bin + d * type.energy_bins + e]);
      result.push_back(static_cast<float>(sum));
    }
  }
  return result;
}

/// The pair tables where look-ups can read them: on the host as the scanner holds them, on a device one after another.
std::vector<PairTable> PairList::place_tables(Memory memory, Stream stream) {
  std::vector<PairTable> result;
  if (on_host(memory)) {
    for (const ModulePairTable& table : scanner_.pair_tables) result.push_back({table.values.data(), table.columns});
    return result;
  }
  std::int64_t values = 0;
  for (const ModulePairTable& table : scanner_.pair_tables) values += static_cast<std::int64_t>(table.values.size());
  table_values_ = Buffer<float>(memory, values, stream);
  float* next = table_values_.data();
  for (const ModulePairTable& table : scanner_.pair_tables) {
    copy(next, memory, table.values.data(), Memory::host, table.values.size() * sizeof(float), stream);
    result.push_back({next, table.columns});
    next += table.values.size();
  }
  return result;
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
