// Singles histograms of a PETSIRD stream as counts of each detector.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gadgets/io/petsird/time_blocks.hpp"
#include "kernels/types/scanner.hpp"
#include "kernels/types/singles_counts.hpp"

namespace tofstream::petsird {

/// Says in a header that singles of each detector within the coincidences' energy window come with the events, and that
/// of more than two photons within the window all coincidences are kept.
void state_singles(ScannerInformation& scanner);

/// Adds up the energy bins of singles that lie within the energy window of coincidences. The coincidence window is the
/// span of the ToF bins, where all pairs of module types have the same; multiples are as promptEventPolicy says. Where
/// a header's histograms do not say how many photons of that energy each detector counted, SinglesCounts::unusable says
/// why.
class SinglesHistograms {
 public:
  explicit SinglesHistograms(const ScannerInformation& scanner);

  /// `shift_ms`: to be added to the block's times. Throws Error for a histogram of another size than the header's bins.
  std::shared_ptr<const SinglesCounts> counts_of(const SinglesHistogramBlock& block, std::int64_t shift_ms = 0) const;

 private:
  struct TypeBins {
    std::size_t detectors = 0, energies = 1;
    std::vector<bool> used;  // of the energies
  };
  void take_energies(const ScannerInformation& scanner, std::size_t type);

  std::vector<TypeBins> types_;
  SinglesCounts like_;  // without counts and times
};

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
