// Projects bins of a histogram that join several pairs of detectors (axial compression, mashed views) pair by pair, by
// a projector of single lines. With n_b pairs l in bin b
//
//   (A x)_b = sum_l (A x)_l / n_b        A^T y = sum_b (y_b / n_b) sum_l a_l
//
// so that m and c/m of a bin mean what they mean where it is one line between the means of their ends: EM's ratio is
// counts / (sum of the lines' expectations), up to the n_b that m holds (share/doc/interfile.md).
#pragma once

#include <memory>

#include "kernels/project/list_mode_projector.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

/// `lines`: the projector of single lines, which it takes over. `scanner` has lines that are spread; events need the
/// numbers of their bins (EventView::bin): without them each call throws std::runtime_error.
///
/// A plan has a bin's lines in the projector's memory, 8 bytes a line and 12 with ToF; without one they are made anew
/// in each pass, by the host.
std::unique_ptr<ListModeProjector> spread_over_lines(std::unique_ptr<ListModeProjector> lines,
                                                     std::shared_ptr<const Scanner> scanner);

/// The projector itself, or spread where the scanner's lines are.
std::unique_ptr<ListModeProjector> spread_where_asked(std::unique_ptr<ListModeProjector> lines,
                                                      std::shared_ptr<const Scanner> scanner);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
