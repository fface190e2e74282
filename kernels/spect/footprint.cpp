// Footprints of lattice points: see footprint.hpp.
#include "kernels/spect/footprint.hpp"

#include <algorithm>
#include <cmath>

namespace tofstream {

namespace {

/// A tap that has not been put beside those of its point.
struct LooseTap {
  std::int32_t plane = 0, column = 0;
  ColumnTap tap;
};

}  // namespace

ViewTaps::ViewTaps(const ViewLattice& lattice, const LatticeView& view, const Grid& grid,
                   const std::vector<char>& support, Footprint kind, int first)
    : planes_(static_cast<std::size_t>(lattice.planes)) {
  while (first <= lattice.last && view.depth_mm(lattice, first) <= 0) ++first;
  if (kind == Footprint::interpolating)
    interpolate(lattice, view, grid, support, first);
  else
    spread(lattice, view, grid, support, kind == Footprint::conserving, first);
  begins_.push_back(static_cast<std::int32_t>(taps_.size()));
}

void ViewTaps::interpolate(const ViewLattice& lattice, const LatticeView& view, const Grid& grid,
                           const std::vector<char>& support, int first) {
  const double per_x = 1 / static_cast<double>(grid.voxel_mm.x), per_y = 1 / static_cast<double>(grid.voxel_mm.y);
  for (int k = first; k <= lattice.last; ++k) {
    Plane& plane = planes_[static_cast<std::size_t>(k)];
    plane = {lattice.columns(), 0, points_};
    const double scale = view.scale_u(lattice, k);
    std::size_t last_end = taps_.size();
    for (int c = 0; c < lattice.columns(); ++c) {
      const AcrossAxis at = turned(view, lattice.n_mm(k), view.centre_u_mm + scale * lattice.u_mm(c));
      const double x = (at.x - static_cast<double>(grid.origin_mm.x)) * per_x;
      const double y = (at.y - static_cast<double>(grid.origin_mm.y)) * per_y;
      const auto begin = static_cast<std::int32_t>(taps_.size());
      if (x > -1 && y > -1 && x < grid.size[0] && y < grid.size[1]) {
        const SamplePair across(x, grid.size[0]), down(y, grid.size[1]);
        for (int j = 0; j < down.count; ++j)
          for (int i = 0; i < across.count; ++i) {
            const std::int32_t column = down.sample[j] * grid.size[0] + across.sample[i];
            if (support[static_cast<std::size_t>(column)])
              taps_.push_back({column, static_cast<float>(across.weight[i] * down.weight[j])});
          }
      }
      if (plane.end == 0 && taps_.size() == last_end) continue;  // before the first footprint
      if (plane.end == 0) plane.begin = c;
      begins_.push_back(begin);
      plane.end = c + 1;
    }
    // Points behind the last footprint are none.
    while (plane.end > plane.begin && begins_.back() == static_cast<std::int32_t>(taps_.size())) {
      begins_.pop_back();
      --plane.end;
    }
    if (plane.end <= plane.begin) plane = {0, 0, points_};
    points_ += plane.end - plane.begin;
  }
}

void ViewTaps::spread(const ViewLattice& lattice, const LatticeView& view, const Grid& grid,
                      const std::vector<char>& support, bool with_gain, int first) {
  std::vector<LooseTap> loose;
  for (int iy = 0; iy < grid.size[1]; ++iy)
    for (int ix = 0; ix < grid.size[0]; ++ix) {
      const std::int32_t column = iy * grid.size[0] + ix;
      if (!support[static_cast<std::size_t>(column)]) continue;
      const double x = static_cast<double>(grid.origin_mm.x) + ix * static_cast<double>(grid.voxel_mm.x);
      const double y = static_cast<double>(grid.origin_mm.y) + iy * static_cast<double>(grid.voxel_mm.y);
      const double n = x * view.sin + y * view.cos, u = y * view.sin - x * view.cos;
      const SamplePair depth(lattice.middle_plane() - n / lattice.step, lattice.planes);
      for (int p = 0; p < depth.count; ++p) {
        const int k = depth.sample[p];
        if (k < first || k > lattice.last) continue;
        const double scale = view.scale_u(lattice, k);
        const double gain = with_gain ? depth.weight[p] / (scale * view.scale_w(lattice, k)) : depth.weight[p];
        const SamplePair across((u - view.centre_u_mm) / scale / lattice.pu + lattice.middle_column(),
                                lattice.columns());
        for (int i = 0; i < across.count; ++i)
          loose.push_back({k, across.sample[i], {column, static_cast<float>(gain * across.weight[i])}});
      }
    }
  std::ranges::stable_sort(loose, [](const LooseTap& a, const LooseTap& b) {
    return a.plane != b.plane ? a.plane < b.plane : a.column < b.column;
  });
  auto next = loose.begin();
  for (int k = first; k <= lattice.last; ++k) {
    const auto begin = next;
    while (next != loose.end() && next->plane == k) ++next;
    Plane& plane = planes_[static_cast<std::size_t>(k)];
    plane = begin == next ? Plane{0, 0, points_} : Plane{begin->column, (next - 1)->column + 1, points_};
    auto tap = begin;
    for (int c = plane.begin; c < plane.end; ++c) {
      begins_.push_back(static_cast<std::int32_t>(taps_.size()));
      for (; tap != next && tap->column == c; ++tap) taps_.push_back(tap->tap);
    }
    points_ += plane.end - plane.begin;
  }
}

std::vector<RowTap> row_taps(const ViewLattice& lattice, const LatticeView& view, int plane, const Grid& grid,
                             Footprint kind) {
  std::vector<RowTap> taps;
  const double scale = view.scale_w(lattice, plane);
  const double origin = static_cast<double>(grid.origin_mm.z), edge = static_cast<double>(grid.voxel_mm.z);
  if (kind == Footprint::interpolating) {
    for (int row = 0; row < lattice.rows(); ++row) {
      const SamplePair pair((view.centre_w_mm + scale * lattice.w_mm(row) - origin) / edge, grid.size[2]);
      for (int i = 0; i < pair.count; ++i) taps.push_back({row, pair.sample[i], static_cast<float>(pair.weight[i])});
    }
    return taps;
  }
  for (int z = 0; z < grid.size[2]; ++z) {
    const SamplePair pair((origin + z * edge - view.centre_w_mm) / scale / lattice.pw + lattice.middle_row(),
                          lattice.rows());
    for (int i = 0; i < pair.count; ++i) taps.push_back({pair.sample[i], z, static_cast<float>(pair.weight[i])});
  }
  return taps;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
