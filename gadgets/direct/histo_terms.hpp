// The multiplicative terms m_v of a scan's histo-images: how many of the scanner's lines see each point, and how well.
#pragma once

#include "core/gadget.hpp"
#include "gadgets/step/scanner_lines.hpp"
#include "kernels/direct/direct_views.hpp"
#include "kernels/direct/histo_lattice.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream {

struct HistoTerms {
  Buffer<float> values;  // [view][k][j][i], on the host
  ScannerLinesCount lines;
  std::int64_t accepted = 0;  // lines that belong to a view
};

/// m_v (direct.md; kernels/direct/histo_sensitivity.hpp) of this scanner's lines, for an image on `grid`; computed on
/// the CPU. Throws std::invalid_argument where no line is in one of the views, std::runtime_error where the run is
/// being ended or nobody knows the scanner's lines.
HistoTerms histo_terms(const Grid& grid, const DirectViews& views, HistoLattice lattice, const Scanner& scanner,
                       const ScannerLinesSettings& settings, Context& context);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
