// Points beside the body: see histo_tails.hpp. The body's voxels are marked in the rows along a view that they lie in, and
// the marks are widened by the margin.
#include "kernels/direct/histo_tails.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <stdexcept>

#include <tbb/parallel_for.h>

namespace tofstream {

namespace {

/// Marks of rows, which may lie so many beyond the lattice.
class RowMarks {
 public:
  RowMarks(const DirectLattice& rows, int spare_j, int spare_k)
      : size_{rows.size[1] + 2 * spare_j, rows.size[2] + 2 * spare_k},
        spare_{spare_j, spare_k},
        marks_(static_cast<std::size_t>(size_[0]) * static_cast<std::size_t>(size_[1])) {}

  void mark(double j, double k) {
    const auto at_j = static_cast<std::int64_t>(std::lround(j)) + spare_[0];
    const auto at_k = static_cast<std::int64_t>(std::lround(k)) + spare_[1];
    if (at_j >= 0 && at_j < size_[0] && at_k >= 0 && at_k < size_[1]) marks_[index(at_j, at_k)] = 1;
  }

  /// Widened by the spare rows, without them.
  std::vector<std::uint8_t> widened() const {
    const std::int64_t inner_j = size_[0] - 2 * spare_[0], inner_k = size_[1] - 2 * spare_[1];
    std::vector<std::uint8_t> wide(static_cast<std::size_t>(inner_j * inner_k));
    for (std::int64_t k = 0; k < inner_k; ++k)
      for (std::int64_t j = 0; j < inner_j; ++j) wide[static_cast<std::size_t>(j + inner_j * k)] = any_about(j, k);
    return wide;
  }

 private:
  std::size_t index(std::int64_t j, std::int64_t k) const { return static_cast<std::size_t>(j + size_[0] * k); }
  bool any_about(std::int64_t j, std::int64_t k) const {
    for (std::int64_t at_k = k; at_k <= k + 2 * spare_[1]; ++at_k) {
      const auto first = marks_.begin() + static_cast<std::ptrdiff_t>(index(j, at_k));
      if (std::find(first, first + 2 * spare_[0] + 1, 1) != first + 2 * spare_[0] + 1) return true;
    }
    return false;
  }

  std::int64_t size_[2];
  int spare_[2];
  std::vector<std::uint8_t> marks_;
};

std::vector<Vec3d> voxels_of_body(const Image& mu, double least) {
  std::vector<Vec3d> body;
  for (int k = 0; k < mu.grid.size[2]; ++k)
    for (int j = 0; j < mu.grid.size[1]; ++j)
      for (int i = 0; i < mu.grid.size[0]; ++i)
        if (static_cast<double>(mu.voxels[mu.grid.index(i, j, k)]) >= least)
          body.push_back(mu.grid.centre(i, j, k).as<double>());
  return body;
}

}  // namespace

HistoTails::HistoTails(const Image& mu_per_mm, const Grid& grid, const DirectViews& views, HistoLattice lattice,
                       const HistoTailsSettings& settings)
    : body_(static_cast<std::size_t>(std::max(views.count(), 0))), lie_along_view_(lattice == HistoLattice::view) {
  validate(grid);
  validate(views);
  const std::vector<Vec3d> body = voxels_of_body(mu_per_mm, settings.least_mu_per_mm);
  if (body.empty()) throw std::invalid_argument("the mu map has no matter, so nothing is beside the body");
  constexpr double sigmas = 4, half_turn = 180;
  const double strays_mm = sigmas * settings.tof_sigma_mm;
  const auto tangent = [](double degrees) { return std::tan(degrees * std::numbers::pi / half_turn); };
  const double stray_s = strays_mm * tangent(0.5 * half_turn / views.azimuths);
  const double stray_z = strays_mm * tangent(static_cast<double>(views.acceptance_deg) / views.tilts);
  for (int v = 0; v < views.count(); ++v) {
    const ViewFrame frame = ViewFrame::of(views.azimuth_deg(v), views.tilt_deg(v));
    points_of_.push_back(DirectLattice::of(grid, lattice, frame));
    rows_of_.push_back(DirectLattice::of(grid, HistoLattice::view, frame));
  }
  const Vec3d voxel = mu_per_mm.grid.voxel_mm.as<double>();
  std::vector<std::int64_t> beside(body_.size());
  tbb::parallel_for(0, views.count(), [&](int v) {
    const auto at = static_cast<std::size_t>(v);
    const DirectLattice& rows = rows_of_[at];
    const double half_s = 0.5 * std::hypot(voxel.x, voxel.y), half_z = 0.5 * voxel.z + half_s * std::abs(rows.tan_q);
    RowMarks marks(rows, static_cast<int>(std::ceil((settings.margin_mm + stray_s + half_s) / rows.spacing_mm.y)),
                   static_cast<int>(std::ceil((settings.margin_mm + stray_z + half_z) / rows.spacing_mm.z)));
    for (const Vec3d& of_body : body) {
      const Vec3d row = rows.coordinates(of_body);
      marks.mark(row.y, row.z);
    }
    body_[at] = marks.widened();
    for (std::int64_t p = 0; p < points_of_[at].points(); ++p) beside[at] += is_beside(v, p);
  });
  points_ = std::accumulate(beside.begin(), beside.end(), std::int64_t{0});
}

bool HistoTails::is_beside(int view, std::int64_t point) const {
  const auto v = static_cast<std::size_t>(view);
  const DirectLattice& points = points_of_[v];
  std::int64_t row = point / points.size[0];
  if (!lie_along_view_) {
    const auto i = static_cast<int>(point % points.size[0]);
    const Vec3d at = rows_of_[v].coordinates(
        points.position(i, static_cast<int>(row % points.size[1]), static_cast<int>(row / points.size[1])));
    const auto nearest = [&](double place, int axis) {  // corners of the image lie beyond the rows
      return std::clamp<std::int64_t>(std::lround(place), 0, rows_of_[v].size[axis] - 1);
    };
    row = nearest(at.y, 1) + rows_of_[v].size[1] * nearest(at.z, 2);
  }
  return body_[v][static_cast<std::size_t>(row)] == 0;
}

double HistoTails::sum(int view, const float* values) const {
  double sum = 0;
  const std::int64_t points = points_of_[static_cast<std::size_t>(view)].points();
  for (std::int64_t p = 0; p < points; ++p)
    if (is_beside(view, p)) sum += static_cast<double>(values[p]);
  return sum;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
