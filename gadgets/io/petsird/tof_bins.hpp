// ToF bins of PETSIRD: edges in mm of c*(t1-t2)/2, so that exchanging an event's detectors negates
// the value.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "gadgets/io/petsird/header.hpp"
#include "gadgets/io/petsird/time_blocks.hpp"

namespace tofstream::petsird {

inline constexpr std::uint32_t no_tof_bin = std::numeric_limits<std::uint32_t>::max();

/// The edges for events of a pair of module types, in either order. Throws Error if the pair has
/// none.
const BinEdges& tof_edges(const ScannerInformation& scanner, TypePair types);
/// FWHM in mm, before binning; for a pair in either order.
float tof_resolution_fwhm_mm(const ScannerInformation& scanner, TypePair types);

/// The middle of a bin, mm.
double tof_bin_centre(const BinEdges& edges, std::uint32_t bin);
/// The bin that covers a value, or no_tof_bin.
std::uint32_t tof_bin_of(const BinEdges& edges, double value_mm);

/// For each bin of `from`, the bin of `to` that an event gets when its two detectors are exchanged:
/// the one that covers the negated centre, or no_tof_bin. With symmetric edges that is bins - 1 -
/// k.
std::vector<std::uint32_t> exchanged_tof_bins(const BinEdges& from, const BinEdges& to);

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
