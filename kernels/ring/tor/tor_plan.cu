// The visits of tubes to tiles (tor_tiled.cu). Compiled without contraction: see make_visits.cuh.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/project/tiled/make_visits.cuh"
#include "kernels/ring/tor/radial.hpp"
#include "kernels/ring/tor/tor_family.cuh"

namespace tofstream::tor {

namespace {

struct PathOfTube {
  int window_columns, window_rows;
  Pass pass;
  Grid lattices[2];  // of voxels the first alone
  __device__ void prefetch(std::int64_t i) const { pass.events.prefetch(i); }
  __device__ tiled::Path operator()(std::int64_t i, int lattice) const {
    const Tube tube = make_tube(lattices[lattice], pass.events.lor(i), pass.model.radius_mm, pass.reach_mm(i));
    tiled::Path path{tube.axes.slice, tube.first,  tube.last, tube.p0,     tube.p_step,
                     tube.q0,         tube.q_step, tube.u0,   tube.u_step, pass.scale(i, tube)};
    // Slices of the tube that the line's ends cut, rather than ToF or the image.
    const bool tof = pass.tof.present();
    const double reach = pass.model.radius_mm, tof_reach = pass.reach_mm(i);
    const double u1 = tube.u0 + tube.first * tube.u_step, u2 = tube.u0 + tube.last * tube.u_step;
    const double low = tof ? fmax(fmin(u1, u2) - 2 * reach, -tof_reach) : fmin(u1, u2) - 2 * reach;
    const double high = tof ? fmin(fmax(u1, u2) + 2 * reach, tof_reach) : fmax(u1, u2) + 2 * reach;
    path.wide = exceeds_window(tube.p_half, tube.q_half, window_columns, window_rows);
    path.whole = tube.empty() || (low >= tube.u_low - 1e-3 && high <= tube.u_high + 1e-3);
    return path;
  }
};

/// Voxels that a tube reaches about its line's crossing with a slice: at most sqrt(2) radii, where the line lies
/// between two axes.
tiled::Reach reach_of(const Model& model) {
  const Vec3 voxel = model.grid.voxel_mm;
  double most = 0;
  for (int slice = 0; slice < 3; ++slice)
    for (int across = 0; across < 3; ++across)
      if (across != slice) most = std::max(most, model.radius_mm * std::sqrt(2.0) / static_cast<double>(voxel[across]));
  const int low = static_cast<int>(most + 1e-3);
  return {.low = low, .high = low + 1, .margin = low + 1, .stores_margin = false, .spare_rows = 9};
}

}  // namespace

namespace {

/// The radial way where the ToF response lets weights go on by multiplications through a window (`windows`) or along a
/// few columns of a row (`rows`).
Radial radial_of(const Pass& pass, bool windows, bool rows) {
  const Model& model = pass.model;
  if (!model.gaussian && !model.blob) return Radial::table;
  // Weights at a corner of a window or the end of a row must not use up the range of single precision below 1 (2^-126):
  // FixedPoint's scale, and ratios smaller than the largest, need it too.
  const double tof_reach = std::max(pass.tof.cut_mm, 0.0) + 2 * model.radius_mm;
  const bool steep = 4 * model.radial_rate * model.radius2 + pass.tof.rate * tof_reach * tof_reach > 60;
  const Vec3 voxel = model.grid.voxel_mm;
  const double radius = model.radius_mm / static_cast<double>(std::min({voxel.x, voxel.y, voxel.z}));
  if (model.blob) return radius <= 2.1 && windows && !steep ? Radial::blob : Radial::table;
  if (steep) return Radial::steep;
  if (windows && radius <= 0.71) return Radial::thin;  // at most a voxel to either side
  if (windows && radius <= 1.8) return Radial::narrow;
  if (windows && radius <= 2.45) return Radial::middle;  // rows are faster beyond
  return rows ? Radial::smooth : Radial::steep;
}

}  // namespace

Ways ways_of(const Pass& pass) {
  if (!pass.tof.present()) return {radial_of(pass, true, true), Tof::none, 0};
  const Vec3 voxel = pass.model.grid.voxel_mm;
  const double sigma = 1 / static_cast<double>(pass.tof.kernel.inverse_sigma);
  const double width = static_cast<double>(pass.events.bin_width_mm(0)) / sigma;
  // The greatest extent of a section by a slice: lines lie at most 55 degrees from its normal.
  const double section = std::numbers::sqrt2 * pass.model.radius_mm;
  if (width <= TofBell::widest) {
    // A ramp is linear on either side of the ToF centre: no section may hold both.
    const Radial radial = radial_of(pass, section <= 1.3 * sigma, true);
    const bool whole = takes_whole_bins(pass.events.bin_width_mm(0), pass.tof.kernel.inverse_sigma);
    if (has_windows(radial) || radial == Radial::smooth) return {radial, whole ? Tof::step : Tof::bell, 0};
    return {radial, Tof::pieces, 0};
  }
  // How far a piece may reach either way, in sigma; see tof_profile.hpp.
  constexpr double longest_of_section = 0.35, longest_of_row = 0.25;
  // Lines lie at most 45 degrees from a row.
  const double column = static_cast<double>(std::max({voxel.x, voxel.y, voxel.z})) / std::numbers::sqrt2;
  const auto stretch_of = [&](int steps) { return 0.5 * (steps * row_columns - 1) * column; };
  int steps = 1;
  while (steps < 4 && stretch_of(steps + 1) <= longest_of_row * sigma) ++steps;
  const Radial radial =
      radial_of(pass, section <= longest_of_section * sigma, stretch_of(1) <= longest_of_section * sigma);
  if (has_windows(radial)) return {radial, Tof::pieces, section};
  if (radial == Radial::smooth) return {radial, Tof::pieces, stretch_of(steps), steps};
  return {radial, Tof::pieces, 0};
}

std::optional<tiled::Visits> TorFamily::visits(const EventView& events, tiled::Workspace& workspace,
                                               Stream stream) const {
  const Model& model = lattices_.front();
  const Pass pass = make_pass(model, events);
  const double path = pass.tof.present() ? 2 * (pass.reach_mm(0) + model.radius_mm) : 1e9;
  tiled::Tiling tiling = tiled::make_tiling(model.grid, reach_of(model), path, workspace.words());
  tiling.images = static_cast<int>(lattices_.size());
  const Radial radial = ways_of(pass).radial;
  const PathOfTube path_of{
      sorted_columns_of(radial), window_rows_of(radial), pass, {lattices_.front().grid, lattices_.back().grid}};
  return tiled::make_visits(tiling, path_of, events.count, workspace.plan_space(), stream);
}

}  // namespace tofstream::tor
// SPDX-License-Identifier: Apache-2.0
