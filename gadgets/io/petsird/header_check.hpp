// Checks that a PETSIRD header fits together, and trims what generators are known to write beyond
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gadgets/io/petsird/event_codec.hpp"
#include "gadgets/io/petsird/header.hpp"

namespace tofstream::petsird {

/// What the lists of events of a checked header may hold.
struct EventLayout {
  std::vector<std::uint32_t> bins;                   ///< [type]
  std::vector<std::uint32_t> tof_bins;               ///< [pair_index]
  std::vector<std::vector<std::uint32_t>> exchange;  ///< [type1*types + type2], type1 < type2: see below

  /// Limits of the list [type1][type2]; type1 < type2 is for the square tables of v0.8-0.9.
  EventLimits limits(std::uint32_t type1, std::uint32_t type2) const;
};

struct CheckedHeader {
  EventLayout layout;
  std::vector<std::string> warnings;
};

/// Checks sizes, ascending edges and finite numbers, and cuts square or overlong tables over type
/// pairs to lower triangles; for an upper entry of tofBinEdges, `exchange` says which bin an event
/// gets when it is turned over. Throws Error, naming the field, if the header cannot be used.
CheckedHeader check_header(Header& header);

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
