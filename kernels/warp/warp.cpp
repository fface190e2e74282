// Deformations as sparse rows: see warp.hpp.
#include "kernels/warp/warp.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

namespace tofstream {
namespace {

/// The voxels around a place, and their weights.
struct WarpCorners {
  int count = 0;
  std::array<std::int64_t, 8> voxel;
  std::array<double, 8> weight;
};

struct WarpPlace {
  int x, y, z;
};

WarpPlace warp_place(const Grid& grid, std::int64_t v) {
  return {static_cast<int>(v % grid.size[0]), static_cast<int>(v / grid.size[0] % grid.size[1]),
          static_cast<int>(v / grid.size[0] / grid.size[1])};
}

Vec3d displacement(const DisplacementField& field, std::int64_t v) {
  return {static_cast<double>(field[0].voxels[v]), static_cast<double>(field[1].voxels[v]),
          static_cast<double>(field[2].voxels[v])};
}

/// Which place a voxel shows, in voxels of the grid.
Vec3d shown_place(const DisplacementField& field, std::int64_t v) {
  const Grid& grid = field[0].grid;
  const WarpPlace at = warp_place(grid, v);
  const Vec3d u = displacement(field, v), edge = grid.voxel_mm.as<double>();
  return {at.x + u.x / edge.x, at.y + u.y / edge.y, at.z + u.z / edge.z};
}

WarpCorners corners_of(const DisplacementField& field, std::int64_t v) {
  constexpr double nothing = 1e-6;  // a weight that rounding leaves
  const Grid& grid = field[0].grid;
  const Vec3d place = shown_place(field, v);
  WarpCorners result;
  for (int corner = 0; corner < 8; ++corner) {
    double weight = 1;
    std::int64_t voxel = 0;
    bool is_inside = true;
    for (int axis = 0; axis < 3; ++axis) {
      const double below = std::floor(place[axis]), part = place[axis] - below;
      const bool is_above = (corner >> axis & 1) != 0;
      const double index = below + (is_above ? 1 : 0);
      is_inside = is_inside && index >= 0 && index < grid.size[axis];
      weight *= is_above ? part : 1 - part;
      if (is_inside) voxel += static_cast<std::int64_t>(index) * grid.stride(axis);
    }
    if (!is_inside || weight < nothing) continue;
    result.voxel[static_cast<std::size_t>(result.count)] = voxel;
    result.weight[static_cast<std::size_t>(result.count++)] = weight;
  }
  return result;
}

void check_field(const DisplacementField& field) {
  const Grid& grid = field[0].grid;
  validate(grid);
  if (!(field[1].grid == grid) || !(field[2].grid == grid))
    throw std::invalid_argument("the components of a displacement field lie on different grids");
  if (grid.voxels() > most_sparse_voxels)
    throw std::invalid_argument(fmt::format("{} voxels are too many for a warp", grid.voxels()));
  for (const Image& component : field)
    if (std::ranges::any_of(component.voxels.span(), [](float u) { return !std::isfinite(u); }))
      throw std::invalid_argument("a displacement is not a finite number");
}

}  // namespace

SparseRows warp_rows(const DisplacementField& field) {
  check_field(field);
  const std::int64_t voxels = field[0].grid.voxels();
  SparseRows rows{Buffer<std::int64_t>(Memory::host, voxels + 1), {}, {}};
  rows.begin[0] = 0;
  tbb::parallel_for(std::int64_t{0}, voxels, [&](std::int64_t v) { rows.begin[v + 1] = corners_of(field, v).count; });
  for (std::int64_t v = 0; v < voxels; ++v) rows.begin[v + 1] += rows.begin[v];
  rows.column = Buffer<std::int32_t>(Memory::host, rows.begin[voxels]);
  rows.weight = Buffer<float>(Memory::host, rows.begin[voxels]);
  tbb::parallel_for(std::int64_t{0}, voxels, [&](std::int64_t v) {
    const WarpCorners near = corners_of(field, v);
    for (int n = 0; n < near.count; ++n) {
      rows.column[rows.begin[v] + n] = static_cast<std::int32_t>(near.voxel[static_cast<std::size_t>(n)]);
      rows.weight[rows.begin[v] + n] = static_cast<float>(near.weight[static_cast<std::size_t>(n)]);
    }
  });
  return rows;
}

WarpFigures warp_figures(const DisplacementField& field) {
  check_field(field);
  const Grid& grid = field[0].grid;
  std::int64_t outside = 0, folded = 0, with_neighbours = 0;
  WarpFigures result;
  for (std::int64_t v = 0; v < grid.voxels(); ++v) {
    result.largest_mm = std::max(result.largest_mm, norm(displacement(field, v)));
    const Vec3d place = shown_place(field, v);
    bool is_outside = false;
    for (int axis = 0; axis < 3; ++axis)
      is_outside = is_outside || place[axis] < -0.5 || place[axis] > grid.size[axis] - 0.5;
    outside += is_outside ? 1 : 0;
    const WarpPlace at = warp_place(grid, v);
    if (at.x + 1 >= grid.size[0] || at.y + 1 >= grid.size[1] || at.z + 1 >= grid.size[2]) continue;
    ++with_neighbours;
    // How the places of three neighbours lie to this voxel's.
    const Vec3d a = shown_place(field, v + grid.stride(0)) - place, b = shown_place(field, v + grid.stride(1)) - place,
                c = shown_place(field, v + grid.stride(2)) - place;
    const double volume = a.x * (b.y * c.z - b.z * c.y) - a.y * (b.x * c.z - b.z * c.x) + a.z * (b.x * c.y - b.y * c.x);
    folded += volume > 0 ? 0 : 1;
  }
  result.outside = static_cast<double>(outside) / static_cast<double>(grid.voxels());
  if (with_neighbours > 0) result.folded = static_cast<double>(folded) / static_cast<double>(with_neighbours);
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
