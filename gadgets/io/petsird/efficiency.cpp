// Looks up the components of the detection efficiency.
#include "gadgets/io/petsird/efficiency.hpp"

#include <utility>

#include <fmt/format.h>

#include "gadgets/io/petsird/detection_bins.hpp"
#include "gadgets/io/petsird/error.hpp"

namespace tofstream::petsird {
namespace {

struct Side {
  BinCounts counts;
  ExpandedBin bin;
};

Side side(const ScannerInformation& scanner, DetectionBin bin) {
  const BinCounts counts = bin_counts(scanner, bin.type);
  if (bin.bin >= counts.bins()) {
    throw Error(fmt::format("PETSIRD scanner has {} detection bins of type {}; there is no bin {}", counts.bins(),
                            bin.type, bin.bin));
  }
  return {counts, expand_bin(counts, bin.bin)};
}

double single(const DetectionEfficiencies& efficiencies, DetectionBin bin) {
  const auto& all = efficiencies.detection_bin_efficiencies;
  return all.empty() ? 1.0 : double{all[bin.type][bin.bin]};
}

double pair(const DetectionEfficiencies& efficiencies, std::uint32_t type1, const Side& one, std::uint32_t type2,
            const Side& two) {
  if (efficiencies.module_pair_sgid_lut.empty()) return 1;
  const Table<std::int32_t>& lut = efficiencies.module_pair_sgid_lut[type1][type2];
  if (lut.empty()) return 1;
  const std::int32_t sgid = lut[one.bin.module][two.bin.module];
  if (sgid < 0) return 0;
  if (efficiencies.module_pair_efficiencies.empty()) return 1;
  const Table<float>& values =
      efficiencies.module_pair_efficiencies[type1][type2][static_cast<std::size_t>(sgid)].values;
  if (values.empty()) return 1;
  return values[one.bin.element * one.counts.energies + one.bin.energy]
               [two.bin.element * two.counts.energies + two.bin.energy];
}

}  // namespace

double bin_pair_efficiency(const ScannerInformation& scanner, DetectionBin a, DetectionBin b) {
  if (std::pair(a.type, a.bin) < std::pair(b.type, b.bin)) std::swap(a, b);
  const Side one = side(scanner, a);
  const Side two = side(scanner, b);
  const DetectionEfficiencies& efficiencies = scanner.efficiencies;
  return efficiencies.calibration_factor * single(efficiencies, a) * single(efficiencies, b) *
         pair(efficiencies, a.type, one, b.type, two);
}

double crystal_pair_efficiency(const ScannerInformation& scanner, Crystal a, Crystal b) {
  const std::uint32_t energies_a = bin_counts(scanner, a.type).energies;
  const std::uint32_t energies_b = bin_counts(scanner, b.type).energies;
  double sum = 0;
  for (std::uint32_t i = 0; i < energies_a; ++i) {
    for (std::uint32_t j = 0; j < energies_b; ++j) {
      sum += bin_pair_efficiency(scanner, {a.type, a.index * energies_a + i}, {b.type, b.index * energies_b + j});
    }
  }
  return sum;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
