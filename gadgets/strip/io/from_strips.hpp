// The PETSIRD header of a pair of strips, by which a live stream says how they stand.
#pragma once

#include "gadgets/io/petsird/header.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::petsird {

/// Two modules of one box each, the upper strip first. What the standard cannot say, positions along a strip, is what
/// the records of such a stream hold. Throws std::invalid_argument where the scanner is no pair of strips.
Header strip_header(const Scanner& scanner);

}  // namespace tofstream::petsird
