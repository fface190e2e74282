// Back projection of lines onto the views' lattices: see histo_sensitivity.hpp.
#include "kernels/direct/histo_sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <tbb/parallel_for.h>

namespace tofstream {

namespace {

constexpr std::int64_t line_task = 4096;

}  // namespace

HistoSensitivity::HistoSensitivity(const Grid& grid, const DirectViews& views, HistoLattice lattice)
    : views_(views), grid_(grid) {
  validate(grid);
  validate(views);
  for (int v = 0; v < views.count(); ++v)
    lattices_.push_back(DirectLattice::of(grid, lattice, ViewFrame::of(views.azimuth_deg(v), views.tilt_deg(v))));
  const DirectLattice& first = lattices_.front();
  lattice_grid_ = Grid::centred(first.size[0], first.size[1], first.size[2], first.spacing_mm.as<float>());
  const Vec3d voxel = grid.voxel_mm.as<double>();
  density_ = voxel.x * voxel.y * voxel.z / (first.spacing_mm.x * first.spacing_mm.y * first.spacing_mm.z);
}

Grid HistoSensitivity::box() const {
  const DirectLattice& first = lattices_.front();
  double half_across = 0, half_z = 0;
  for (const DirectLattice& lattice : lattices_) {
    const double half_u = 0.5 * lattice.size[0] * lattice.spacing_mm.x,
                 half_s = 0.5 * lattice.size[1] * lattice.spacing_mm.y;
    half_across = std::max(half_across, std::hypot(half_u, half_s));
    half_z = std::max(half_z, 0.5 * lattice.size[2] * lattice.spacing_mm.z + std::abs(lattice.tan_q) * half_u);
  }
  const Vec3d edge = {2 * half_across, 2 * half_across, 2 * half_z};
  Grid box{{1, 1, 1}, edge.as<float>(), first.centre_mm.as<float>()};
  return box;
}

void HistoSensitivity::order_by_view(const EventView& lines) {
  const auto count = static_cast<std::size_t>(lines.count);
  view_of_.resize(count);
  tbb::parallel_for(std::int64_t{0}, (lines.count + line_task - 1) / line_task, [&](std::int64_t task) {
    for (std::int64_t i = task * line_task; i < std::min(lines.count, (task + 1) * line_task); ++i) {
      const Lor lor = lines.lor(i);
      const Vec3 along = lor.end2 - lor.end1;
      const float length = norm(along);
      view_of_[static_cast<std::size_t>(i)] =
          std::isfinite(length) && length > 0 ? view_of_line(views_, along).view : -1;
    }
  });
  const auto views = static_cast<std::size_t>(views_.count());
  ends_.assign(views + 1, 0);
  for (const std::int32_t view : view_of_)
    if (view >= 0) ++ends_[static_cast<std::size_t>(view) + 1];
  for (std::size_t v = 0; v < views; ++v) ends_[v + 1] += ends_[v];
  ordered_.resize(static_cast<std::size_t>(ends_.back()));
  std::vector<std::int64_t> next(ends_.begin(), ends_.end() - 1);
  for (std::size_t i = 0; i < count; ++i)
    if (view_of_[i] >= 0)
      ordered_[static_cast<std::size_t>(next[static_cast<std::size_t>(view_of_[i])]++)] = static_cast<std::int64_t>(i);
}

void HistoSensitivity::map(const EventView& lines, const float* values, int view) {
  const DirectLattice& lattice = lattices_[static_cast<std::size_t>(view)];
  const std::int64_t begin = ends_[static_cast<std::size_t>(view)], end = ends_[static_cast<std::size_t>(view) + 1];
  const auto count = static_cast<std::size_t>(end - begin);
  for (auto& array : mapped_.ends) array.resize(count);
  mapped_.values.resize(count);
  const auto in_axes = [&](Vec3 end_mm) {
    const Vec3d at = lattice.coordinates(end_mm.as<double>());
    return Vec3d{(at.x - lattice.middle(0)) * lattice.spacing_mm.x, (at.y - lattice.middle(1)) * lattice.spacing_mm.y,
                 (at.z - lattice.middle(2)) * lattice.spacing_mm.z};
  };
  tbb::parallel_for(std::int64_t{0}, (end - begin + line_task - 1) / line_task, [&](std::int64_t task) {
    for (std::int64_t i = task * line_task; i < std::min(end - begin, (task + 1) * line_task); ++i) {
      const std::int64_t line = ordered_[static_cast<std::size_t>(begin + i)];
      const Lor lor = lines.lor(line);
      const Vec3d from = in_axes(lor.end1), to = in_axes(lor.end2);
      const auto at = static_cast<std::size_t>(i);
      for (int axis = 0; axis < 3; ++axis) {
        mapped_.ends[axis][at] = static_cast<float>(from[axis]);
        mapped_.ends[3 + axis][at] = static_cast<float>(to[axis]);
      }
      const double stretched = norm(to - from) / norm((lor.end2 - lor.end1).as<double>());
      mapped_.values[at] = static_cast<float>(static_cast<double>(values[line]) * density_ / stretched);
    }
  });
}

std::int64_t HistoSensitivity::add(const EventView& lines, const float* values, ListModeProjector& projector,
                                   float* terms) {
  if (!(projector.grid() == lattice_grid_) || projector.backend() != Backend::cpu)
    throw std::invalid_argument("the terms of histo-images need a projector on their lattice, on the host");
  order_by_view(lines);
  const std::int64_t view_points = lattices_.front().points();
  for (int v = 0; v < views_.count(); ++v) {
    map(lines, values, v);
    EventView of_view;
    of_view.count = static_cast<std::int64_t>(mapped_.values.size());
    if (of_view.count == 0) continue;
    for (int e = 0; e < 6; ++e) of_view.ends[e] = mapped_.ends[e].data();
    projector.back(of_view, mapped_.values.data(), terms + v * view_points);
  }
  return ends_.back();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
