// The PETSIRD header of a pair of strips, with which a live stream describes them.
#pragma once

#include "gadgets/io/petsird/header.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::petsird {

/// Two modules of one box each, the upper strip first. The standard cannot express positions along a strip; the records
/// of such a stream hold these. Throws std::invalid_argument if the scanner is not a pair of strips.
Header strip_header(const Scanner& scanner);

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
