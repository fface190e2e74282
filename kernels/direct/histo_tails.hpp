// The points of histo-images beside the body: lines along the view through them miss it, so that counts there are
// scatter or randoms. What scatter_tails.hpp has of list mode, for views.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/direct/direct_views.hpp"
#include "kernels/direct/histo_lattice.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

struct HistoTailsSettings {
  double margin_mm = 20;           // about the body
  double least_mu_per_mm = 0.002;  // the body has at least so much
  double tof_sigma_mm = 0;         // of events about the points at which they were deposited
};

class HistoTails {
 public:
  /// `mu_per_mm`: on any grid, on the host. An event may lie four sigmas of ToF along its line from its decay, and its
  /// line half an interval off its view's middle: the margin is wider by that. Throws std::invalid_argument for a map
  /// without matter, and for an invalid grid or views.
  HistoTails(const Image& mu_per_mm, const Grid& grid, const DirectViews& views, HistoLattice lattice,
             const HistoTailsSettings& settings);

  /// The sum over the points beside the body of a view's values, [k][j][i] on the host.
  double sum(int view, const float* values) const;
  /// How many points of all views lie there.
  std::int64_t points() const { return points_; }

 private:
  bool is_beside(int view, std::int64_t point) const;

  std::vector<DirectLattice> points_of_, rows_of_;  // of views: the histo-image's lattice, and that along the view
  std::vector<std::vector<std::uint8_t>> body_;     // of views: whether a row of rows_of_, [k][j], meets it
  bool lie_along_view_;
  std::int64_t points_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
