// Counts of detectors from singles histograms: see singles.hpp.
#include "gadgets/io/petsird/singles.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "gadgets/io/petsird/detection_bins.hpp"
#include "gadgets/io/petsird/error.hpp"
#include "gadgets/io/petsird/tof_bins.hpp"
#include "kernels/math/units.hpp"

namespace tofstream::petsird {
namespace {

/// All differences of times that the ToF bins span; 0 where pairs of module types have unlike spans.
double window_of_tof_bins(const ScannerInformation& scanner) {
  const auto types = static_cast<std::uint32_t>(module_types(scanner));
  double window_mm = 0;
  for (std::uint32_t type1 = 0; type1 < types; ++type1)
    for (std::uint32_t type2 = 0; type2 <= type1; ++type2) {
      const BinEdges& edges = tof_edges(scanner, {type1, type2});
      const auto span = static_cast<double>(edges.back() - edges.front());
      if (window_mm > 0 && span != window_mm) return 0;
      window_mm = span;
    }
  // ToF is half the difference of the ways.
  return 2 * window_mm / speed_of_light_mm_ps * 1e-12;
}

std::string why_unusable(const ScannerInformation& scanner) {
  switch (scanner.prompt_event_policy) {
    case CoincidencePolicy::reject_higher_multiples:
    case CoincidencePolicy::multiples_as_all_coincidences:
      break;
    case CoincidencePolicy::none:
    case CoincidencePolicy::multiples_as_sequential_coincidences:
    case CoincidencePolicy::other:
      return "the header's promptEventPolicy is neither rejectHigherMultiples nor multiplesAsAllCoincidences, so it is "
             "not known what becomes of three photons within the window";
  }
  if (scanner.singles_histogram_level == SinglesHistogramLevel::module)
    return "the singles histograms are by module, and randoms need the singles of each detector";
  if (scanner.singles_histogram_level == SinglesHistogramLevel::none)
    return "the header's singlesHistogramLevel is none";
  return {};
}

}  // namespace

void state_singles(ScannerInformation& scanner) {
  scanner.singles_histogram_level = SinglesHistogramLevel::all;
  scanner.prompt_event_policy = CoincidencePolicy::multiples_as_all_coincidences;
  scanner.singles_histogram_energy_bin_edges_keV.clear();
  for (const BinEdges& window : scanner.event_energy_bin_edges_keV)
    scanner.singles_histogram_energy_bin_edges_keV.push_back({window.front(), window.back()});
}

SinglesHistograms::SinglesHistograms(const ScannerInformation& scanner) {
  like_.window_s = window_of_tof_bins(scanner);
  like_.multiples_rejected = scanner.prompt_event_policy == CoincidencePolicy::reject_higher_multiples;
  like_.unusable = why_unusable(scanner);
  for (std::size_t type = 0; type < module_types(scanner) && like_.unusable.empty(); ++type)
    take_energies(scanner, type);
}

void SinglesHistograms::take_energies(const ScannerInformation& scanner, std::size_t type) {
  const BinCounts bins = bin_counts(scanner, type);
  const BinEdges& window = scanner.event_energy_bin_edges_keV[type];
  const auto& all_edges = scanner.singles_histogram_energy_bin_edges_keV;
  const BinEdges& edges = type < all_edges.size() && all_edges[type].size() > 1 ? all_edges[type] : window;
  TypeBins made{.detectors = std::size_t{bins.modules} * bins.elements,
                .energies = std::max<std::size_t>(edges.size(), 2) - 1,
                .used = {}};
  for (std::size_t e = 0; e < made.energies; ++e) {
    const bool known = edges.size() > 1 && window.size() > 1;
    const bool inside = !known || (edges[e] >= window.front() && edges[e + 1] <= window.back());
    const bool outside = known && (edges[e] >= window.back() || edges[e + 1] <= window.front());
    if (!inside && !outside)
      like_.unusable = fmt::format(
          "the singles of {:g} to {:g} keV lie partly outside the coincidences' energy window of {:g} to {:g} keV",
          edges[e], edges[e + 1], window.front(), window.back());
    made.used.push_back(inside);
  }
  types_.push_back(std::move(made));
}

std::shared_ptr<const SinglesCounts> SinglesHistograms::counts_of(const SinglesHistogramBlock& block,
                                                                  std::int64_t shift_ms) const {
  auto counts = std::make_shared<SinglesCounts>(like_);
  counts->start_s = 1e-3 * static_cast<double>(block.interval.start_ms + shift_ms);
  counts->duration_s = 1e-3 * (static_cast<double>(block.interval.stop_ms) - block.interval.start_ms);
  if (!like_.unusable.empty()) return counts;
  for (std::size_t type = 0; type < types_.size(); ++type) {
    const TypeBins& bins = types_[type];
    const std::size_t needed = bins.detectors * bins.energies,
                      has = type < block.histograms.size() ? block.histograms[type].size() : 0;
    if (has != needed)
      throw Error(fmt::format("PETSIRD singles histogram at {} ms: {} counts for {} detectors in {} energy bins",
                              block.interval.start_ms, has, bins.detectors, bins.energies));
    for (std::size_t d = 0; d < bins.detectors; ++d) {
      std::uint64_t sum = 0;
      for (std::size_t e = 0; e < bins.energies; ++e)
        if (bins.used[e]) sum += block.histograms[type][d * bins.energies + e];
      counts->counts.push_back(sum);
    }
  }
  return counts;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
