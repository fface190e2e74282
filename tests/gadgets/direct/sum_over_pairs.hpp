// What lines of pairs add to histo-images, step by step: the reference for all that is laid down there.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/direct/direct_views.hpp"
#include "kernels/direct/histo_lattice.hpp"
#include "kernels/types/events.hpp"
#include "tests/gadgets/direct/direct_runs.hpp"

namespace tofstream::direct_test {

/// What a pair's line adds at steps along it, each shared out to the points about it.
class SumOverPairs {
 public:
  SumOverPairs(const DirectViews& views, HistoLattice kind) : views_(views) {
    for (int v = 0; v < views.count(); ++v)
      lattices_.push_back(DirectLattice::of(grid, kind, ViewFrame::of(views.azimuth_deg(v), views.tilt_deg(v))));
    counts.assign(static_cast<std::size_t>(views.count() * lattices_[0].points()), 0.0);
    all.assign(static_cast<std::size_t>(views.count()), 0.0);
  }

  /// `offset`: in [0, 1), of the first step; another one for each line. `a_mm`: of the line with its ToF at a place of it.
  template <class AMm>
  void add(const Lor& lor, double offset, const AMm& a_mm) {
    const Vec3 along = lor.end2 - lor.end1;
    const int view = view_of_line(views_, along).view;
    if (view < 0) return;
    const DirectLattice& lattice = lattices_[static_cast<std::size_t>(view)];
    const auto steps = static_cast<int>(norm(along) / step_mm);
    const double step = static_cast<double>(norm(along)) / steps;
    for (int s = 0; s < steps; ++s) {
      const auto share = static_cast<float>((s + offset) / steps);
      const Vec3d at = lattice.coordinates((lor.end1 + share * along).as<double>());
      if (!is_inside(lattice, at)) continue;
      const double weight = step * a_mm(Lor{lor.end1, lor.end2, (share - 0.5f) * norm(along)});
      all[static_cast<std::size_t>(view)] += weight;
      double* of_view = counts.data() + view * lattice.points();
      for (int corner = 0; corner < 8; ++corner) share_out(lattice, at, corner, weight, of_view);
    }
  }

  std::vector<double> counts, all;  // at points; within the lattice of each view

 private:
  static constexpr double step_mm = 4;
  static bool is_inside(const DirectLattice& lattice, Vec3d at) {
    for (int axis = 0; axis < 3; ++axis)
      if (!(at[axis] >= -0.5 && at[axis] < lattice.size[axis] - 0.5)) return false;
    return true;
  }
  static void share_out(const DirectLattice& lattice, Vec3d at, int corner, double weight, double* counts) {
    int point[3];
    for (int axis = 0; axis < 3; ++axis) {
      const int up = corner >> axis & 1;
      const double below = std::floor(at[axis]);
      weight *= up ? at[axis] - below : 1 - (at[axis] - below);
      point[axis] = std::clamp(static_cast<int>(below) + up, 0, lattice.size[axis] - 1);
    }
    counts[lattice.index(point[0], point[1], point[2])] += weight;
  }

  DirectViews views_;
  std::vector<DirectLattice> lattices_;
};

}  // namespace tofstream::direct_test
// SPDX-License-Identifier: Apache-2.0
