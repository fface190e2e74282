// Where expected counts are laid down: the points of histo-images, and the lines whose counts they hold.
#pragma once

#include <cstdint>

#include "kernels/direct/direct_views.hpp"
#include "kernels/direct/histo_lattice.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream {

struct HistoPlace {
  Grid grid;
  DirectViews views;
  HistoLattice lattice = HistoLattice::view;
  std::int64_t most_lines = 0;  // ScannerLinesSettings::most_lines
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
