// ToF bins: where a value falls, and what becomes of a bin when the detectors are exchanged.
#include "gadgets/io/petsird/tof_bins.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/petsird/error.hpp"

namespace tofstream::petsird {
namespace {

template <class T>
const T& entry(const Table<T>& table, TypePair types, const char* what) {
  if (types.first < types.second) std::swap(types.first, types.second);
  if (types.first >= table.size() || types.second >= table[types.first].size()) {
    throw Error(fmt::format("PETSIRD header has no {}[{}][{}]; correct the scanner description", what, types.first,
                            types.second));
  }
  return table[types.first][types.second];
}

}  // namespace

const BinEdges& tof_edges(const ScannerInformation& scanner, TypePair types) {
  return entry(scanner.tof_bin_edges_mm, types, "tofBinEdges");
}

float tof_resolution_fwhm_mm(const ScannerInformation& scanner, TypePair types) {
  return entry(scanner.tof_resolution_fwhm_mm, types, "tofResolution");
}

double tof_bin_centre(const BinEdges& edges, std::uint32_t bin) {
  return (double{edges[bin]} + double{edges[bin + 1]}) / 2;
}

std::uint32_t tof_bin_of(const BinEdges& edges, double value_mm) {
  if (edges.size() < 2 || !(value_mm >= double{edges.front()} && value_mm < double{edges.back()})) return no_tof_bin;
  // Where the bin would be, were all of the same width: most scanners' are.
  const double first = edges.front(), share = (value_mm - first) / (double{edges.back()} - first);
  auto bin = std::min(static_cast<std::size_t>(share * static_cast<double>(edges.size() - 1)), edges.size() - 2);
  while (value_mm < double{edges[bin]}) --bin;
  while (value_mm >= double{edges[bin + 1]}) ++bin;
  return static_cast<std::uint32_t>(bin);
}

std::vector<std::uint32_t> exchanged_tof_bins(const BinEdges& from, const BinEdges& to) {
  std::vector<std::uint32_t> bins;
  for (std::uint32_t bin = 0; bin + 1 < from.size(); ++bin) {
    bins.push_back(tof_bin_of(to, -tof_bin_centre(from, bin)));
  }
  return bins;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
