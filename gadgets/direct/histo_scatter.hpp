// The scatter that histo-images hold: b_v of h = w m K x + b. The lines through a point along its view have, for a mm of
// ToF, the scatter's density there, so
//
//     b_v(p) = T m0_v(p) S(line through p along v, ToF of p) / (points a voxel)
//
// with m0_v the back projection of the view's lines by their efficiency alone (scatter is not attenuated again). All lines
// of a view are taken to lie along its middle: scatter changes little within a view's interval.
#pragma once

#include <filesystem>
#include <span>

#include "core/value/params.hpp"
#include "gadgets/direct/histo_place.hpp"
#include "gadgets/step/line_scatter.hpp"
#include "kernels/direct/histo_lines.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

/// `scatter: {file: scatter.nii.gz}`
struct HistoScatterParams {
  std::filesystem::path file;
  static constexpr auto params = describe(param<&HistoScatterParams::file>(
      "file", reads_file,
      "NIfTI of counts per s and mm of ToF for a pair of efficiency 1, with the axes radial, angle, z, z, ToF, as "
      "event_corrections reads and direct_scatter writes it; none: no scatter"));
};

class HistoScatter {
 public:
  /// `unattenuated`: m0_v of all views, [view][k][j][i] on the host, which must outlive this. Throws as scatter_of() for a
  /// scanner of whose lines nobody knows the scatter.
  HistoScatter(const HistoPlace& place, const Scanner& scanner, std::span<const float> unattenuated);

  std::int64_t points_of_view() const { return lines_.points(); }
  /// to[p] = (before[p] or, where it is null, 0) + the scatter that is expected in `seconds` at each point of a view, in
  /// the unit of time in which it is given. Arrays in `memory`; complete on return. For several threads at once.
  void add(const LineScatter& scatter, int view, double seconds, const float* before, float* to, Memory memory) const;

 private:
  HistoLines lines_;
  double points_a_voxel_;
  std::span<const float> unattenuated_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
