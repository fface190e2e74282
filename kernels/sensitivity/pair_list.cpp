// Numbers and efficiencies of detector pairs: see pair_list.hpp.
#include "kernels/sensitivity/pair_list.hpp"

#include <algorithm>
#include <cmath>

namespace tofstream::detail {

namespace {

std::vector<float> summed_over_energies(const Scanner& scanner) {
  std::vector<float> result;
  if (scanner.bin_efficiency.empty()) return result;
  for (const ModuleType& type : scanner.types) {
    const std::uint64_t detectors = std::uint64_t{type.modules} * type.elements;
    for (std::uint64_t d = 0; d < detectors; ++d) {
      double sum = 0;
      for (std::uint32_t e = 0; e < type.energy_bins; ++e)
        sum += static_cast<double>(scanner.bin_efficiency[type.first_bin + d * type.energy_bins + e]);
      result.push_back(static_cast<float>(sum));
    }
  }
  return result;
}

/// Row of the n-th cell below the diagonal of a square table, row after row.
std::int64_t row_below_diagonal(std::int64_t n) {
  auto row = static_cast<std::int64_t>((1 + std::sqrt(1 + 8 * static_cast<double>(n))) / 2);
  while (row * (row - 1) / 2 > n) --row;
  while (row * (row + 1) / 2 <= n) ++row;
  return row;
}

}  // namespace

PairList::PairList(const Scanner& scanner) : scanner_(scanner), detector_efficiency_(summed_over_energies(scanner)) {
  const std::uint32_t modules = scanner.modules();
  for (std::uint32_t m1 = 0; m1 < modules; ++m1) {
    const std::int64_t elements1 = type_of_module(m1).elements;
    for (std::uint32_t m2 = 0; m2 <= m1; ++m2) {
      const bool coincident = scanner.module_pair.empty()
                                  ? m1 != m2
                                  : scanner.module_pair[static_cast<std::size_t>(m1) * modules + m2] >= 0;
      const std::int64_t elements2 = type_of_module(m2).elements;
      const std::int64_t pairs = m1 == m2 ? elements1 * (elements1 - 1) / 2 : elements1 * elements2;
      if (!coincident || pairs == 0) continue;
      blocks_.push_back({total_, m1, m2});
      total_ += pairs;
    }
  }
}

const ModuleType& PairList::type_of_module(std::uint32_t module) const {
  const auto after = std::ranges::upper_bound(scanner_.types, module, {}, &ModuleType::first_module);
  return *(after - 1);
}

PairList::Walk::Walk(const PairList& list, std::int64_t first_number) : list_(list) {
  const auto after = std::ranges::upper_bound(list.blocks_, first_number, {}, &Block::first_number);
  block_ = static_cast<std::size_t>(after - list.blocks_.begin()) - 1;
  enter_block();
}

void PairList::Walk::enter_block() {
  const Scanner& scanner = list_.scanner_;
  const Block& block = list_.blocks_[block_];
  begin_ = block.first_number;
  end_ = block_ + 1 < list_.blocks_.size() ? list_.blocks_[block_ + 1].first_number : list_.total_;
  module1_ = block.module1;
  module2_ = block.module2;
  type1_ = &list_.type_of_module(module1_);
  type2_ = &list_.type_of_module(module2_);
  first1_ = type1_->first_detector + (module1_ - type1_->first_module) * type1_->elements;
  first2_ = type2_->first_detector + (module2_ - type2_->first_module) * type2_->elements;
  elements2_ = type2_->elements;
  if (scanner.pair_tables.empty()) return;
  const std::size_t cell = static_cast<std::size_t>(module1_) * scanner.modules() + module2_;
  table_ = &scanner.pair_tables[scanner.module_pair.empty() ? 0 : static_cast<std::size_t>(scanner.module_pair[cell])];
}

PairList::Pair PairList::Walk::pair(std::int64_t number) {
  if (number >= end_) {
    do ++block_;
    while (block_ + 1 < list_.blocks_.size() && list_.blocks_[block_ + 1].first_number <= number);
    enter_block();
  }
  const std::int64_t n = number - begin_;
  const std::int64_t row = module1_ == module2_ ? row_below_diagonal(n) : n / elements2_;
  const std::int64_t column = module1_ == module2_ ? n - row * (row - 1) / 2 : n % elements2_;
  return {first1_ + static_cast<std::uint32_t>(row), first2_ + static_cast<std::uint32_t>(column)};
}

float PairList::Walk::efficiency(Pair pair) const {
  const Scanner& scanner = list_.scanner_;
  const std::uint32_t element1 = pair.detector1 - first1_, element2 = pair.detector2 - first2_;
  const std::uint32_t energies1 = type1_->energy_bins, energies2 = type2_->energy_bins;
  const bool has_bins = !list_.detector_efficiency_.empty();
  double sum = 1;
  if (!table_ || (energies1 == 1 && energies2 == 1)) {
    if (has_bins)
      sum = static_cast<double>(list_.detector_efficiency_[pair.detector1]) *
            static_cast<double>(list_.detector_efficiency_[pair.detector2]);
    if (table_) sum *= static_cast<double>(table_->values[std::size_t{element1} * table_->columns + element2]);
  } else {
    const std::size_t bin1 = type1_->first_bin + std::size_t{energies1} * (pair.detector1 - type1_->first_detector);
    const std::size_t bin2 = type2_->first_bin + std::size_t{energies2} * (pair.detector2 - type2_->first_detector);
    sum = 0;
    for (std::uint32_t e1 = 0; e1 < energies1; ++e1) {
      const std::size_t row = (std::size_t{element1} * energies1 + e1) * table_->columns;
      const double b1 = has_bins ? static_cast<double>(scanner.bin_efficiency[bin1 + e1]) : 1.0;
      for (std::uint32_t e2 = 0; e2 < energies2; ++e2) {
        const double b2 = has_bins ? static_cast<double>(scanner.bin_efficiency[bin2 + e2]) : 1.0;
        sum += b1 * b2 * static_cast<double>(table_->values[row + std::size_t{element2} * energies2 + e2]);
      }
    }
  }
  if (!scanner.geometric.empty())
    sum *= static_cast<double>(scanner.geometric.pair(module1_, element1, scanner.detectors->position(pair.detector1),
                                                      module2_, element2, scanner.detectors->position(pair.detector2)));
  return static_cast<float>(static_cast<double>(scanner.calibration) * sum);
}

}  // namespace tofstream::detail
