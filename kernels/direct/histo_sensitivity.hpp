// The multiplicative terms m_v of histo-images: for each point of a view's lattice the back projection of the lines
// that belong to the view. With y = m_v K_v x they make of the views' sensitivities K_v^T m_v what list mode has as one:
// on the image's lattice the sum of all m_v is the list-mode sensitivity of the lines within the acceptance.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/direct/direct_views.hpp"
#include "kernels/direct/histo_lattice.hpp"
#include "kernels/project/list_mode_projector.hpp"
#include "kernels/types/events.hpp"

namespace tofstream {

class HistoSensitivity {
 public:
  /// Throws std::invalid_argument for an invalid grid or views.
  HistoSensitivity(const Grid& grid, const DirectViews& views, HistoLattice lattice);

  /// The grid of the projector that add() needs: a view's lattice as its own axes see it, about the origin.
  Grid lattice_grid() const { return lattice_grid_; }
  /// How many points of a lattice share a voxel's volume.
  double points_a_voxel() const { return density_; }
  /// A box that holds the lattices of all views.
  Grid box() const;
  /// Floats of all views' terms, [view][k][j][i].
  std::int64_t points() const { return views_.count() * lattices_.front().points(); }

  /// terms += the lines of each view, with `values` for a mm of each: all in host memory. A line's ends are mapped
  /// into the lattice's axes, in which it is a line too; a mm of it there is not a mm, which its value makes up for, as
  /// it does for a lattice whose points are denser than the voxels. Lines beyond the acceptance, or without a length,
  /// belong to no view. `projector` is on lattice_grid() and runs on the host; its lines have no ToF. Returns how many
  /// lines belong to a view. Throws std::invalid_argument for another projector.
  std::int64_t add(const EventView& lines, const float* values, ListModeProjector& projector, float* terms);

 private:
  /// Lines of one view in its lattice's axes.
  struct Mapped {
    std::vector<float> ends[6];
    std::vector<float> values;
  };
  void order_by_view(const EventView& lines);
  void map(const EventView& lines, const float* values, int view);

  DirectViews views_;
  Grid grid_, lattice_grid_;
  double density_ = 1;  // points of a lattice a voxel
  std::vector<DirectLattice> lattices_;
  std::vector<std::int32_t> view_of_;
  std::vector<std::int64_t> ordered_, ends_;  // lines by view, and where each view's end
  Mapped mapped_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
