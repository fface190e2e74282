// The largest co-polar angle that a scanner's lines have, beyond which an acceptance of views makes no sense.
#pragma once

#include "kernels/types/scanner.hpp"

namespace tofstream {

/// Degrees from the transverse plane to the steepest line between two detectors in coincidence; 0 where none are.
/// Detectors of one transverse place count once, and pairs of modules that cannot be steeper than what was found not at
/// all.
double steepest_line_deg(const Scanner& scanner);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
