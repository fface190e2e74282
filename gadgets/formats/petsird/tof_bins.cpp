// ToF bins: where a value falls, and what becomes of a bin when the detectors are exchanged.
#include "gadgets/formats/petsird/tof_bins.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gadgets/formats/petsird/error.hpp"

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
  const auto above = std::upper_bound(edges.begin(), edges.end(), value_mm);
  if (above == edges.begin() || above == edges.end()) return no_tof_bin;
  return static_cast<std::uint32_t>(above - edges.begin() - 1);
}

std::vector<std::uint32_t> exchanged_tof_bins(const BinEdges& from, const BinEdges& to) {
  std::vector<std::uint32_t> bins;
  for (std::uint32_t bin = 0; bin + 1 < from.size(); ++bin) {
    bins.push_back(tof_bin_of(to, -tof_bin_centre(from, bin)));
  }
  return bins;
}

}  // namespace tofstream::petsird
