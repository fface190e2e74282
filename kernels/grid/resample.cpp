// Images moved onto another grid: see resample.hpp.
#include "kernels/grid/resample.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

#include <tbb/parallel_for.h>

namespace tofstream {
namespace {

constexpr double rounding_of_counts = 1e-3;  // of a voxel, where voxels are counted

/// For each axis of the world the image's axis that is nearest to it, each taken once.
std::array<int, 3> nearest_axes(const Affine& to_world) {
  std::array<int, 3> axes = {0, 1, 2}, best = axes;
  double most = -1;
  do {
    double sum = 0;
    for (int world = 0; world < 3; ++world) {
      const Vec3d column = to_world.column(axes[static_cast<std::size_t>(world)]);
      sum += std::abs(column[world]) / norm(column);
    }
    // Where two orders are as near, the first is taken, whatever rounding does.
    constexpr double as_near = 1e-9;
    if (sum > most + as_near) {
      most = sum;
      best = axes;
    }
  } while (std::ranges::next_permutation(axes).found);
  return best;
}

struct WorldBox {
  Vec3d low{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
            std::numeric_limits<double>::infinity()};
  Vec3d high = -1.0 * low;

  void add(Vec3d p) {
    for (int axis = 0; axis < 3; ++axis) {
      low.set(axis, std::min(low[axis], p[axis]));
      high.set(axis, std::max(high[axis], p[axis]));
    }
  }
};

struct IndexRange {
  std::array<int, 3> first, last;
};

/// Around these voxels.
WorldBox world_box_of(const Affine& world_of_index, const IndexRange& range) {
  WorldBox box;
  for (unsigned corner = 0; corner < 8; ++corner) {
    Vec3d at;
    for (unsigned axis = 0; axis < 3; ++axis)
      at.set(static_cast<int>(axis), corner & (1U << axis) ? range.last[axis] + 0.5 : range.first[axis] - 0.5);
    box.add(world_of_index(at));
  }
  return box;
}

/// Beyond 4096 it is not asked how far.
int whole_count(double voxels) {
  constexpr double many = 10000;
  return static_cast<int>(std::clamp(std::ceil(voxels - rounding_of_counts), 0.0, many));
}

/// Reads an image between its voxels.
class VoxelSampler {
 public:
  explicit VoxelSampler(const Image& image) : grid_(image.grid), voxels_(image.voxels.data()) {}

  /// At an index, which need not be whole; 0 outside of the voxels.
  double operator()(Vec3d at) const {
    std::int64_t from[3], step[3];
    double part[3];
    for (int axis = 0; axis < 3; ++axis) {
      const int size = grid_.size[axis];
      constexpr double rounding = 1e-6;
      if (!(at[axis] >= -0.5 - rounding && at[axis] <= size - 0.5 + rounding)) return 0;
      const double inside = std::clamp(at[axis], 0.0, size - 1.0);
      const int below = std::min(static_cast<int>(inside), std::max(0, size - 2));
      from[axis] = below * grid_.stride(axis);
      step[axis] = size > 1 ? grid_.stride(axis) : 0;
      part[axis] = inside - below;
    }
    const float* const corner = voxels_ + from[0] + from[1] + from[2];
    const auto along = [](double a, double b, double t) { return a + t * (b - a); };
    const auto row = [&](const float* v) {
      return along(static_cast<double>(v[0]), static_cast<double>(v[step[0]]), part[0]);
    };
    const auto plane = [&](const float* v) { return along(row(v), row(v + step[1]), part[1]); };
    return along(plane(corner), plane(corner + step[2]), part[2]);
  }

 private:
  const Grid& grid_;
  const float* voxels_;
};

/// Points spread evenly over a voxel whose edges are the columns, in units in which they are to be at most 1 apart.
std::vector<Vec3d> points_in_voxel(const Affine& columns) {
  std::array<int, 3> counts{};
  for (int axis = 0; axis < 3; ++axis) {
    const Vec3d edge = columns.column(axis);
    counts[static_cast<std::size_t>(axis)] =
        std::max(1, whole_count(std::max({std::abs(edge.x), std::abs(edge.y), std::abs(edge.z)})));
  }
  const auto offset = [&](int number, std::size_t axis) { return (number + 0.5) / counts[axis] - 0.5; };
  std::vector<Vec3d> points;
  for (int k = 0; k < counts[2]; ++k)
    for (int j = 0; j < counts[1]; ++j)
      for (int i = 0; i < counts[0]; ++i)
        points.push_back(offset(i, 0) * columns.column(0) + offset(j, 1) * columns.column(1) +
                         offset(k, 2) * columns.column(2));
  return points;
}

/// The range of the voxels that are not 0.
std::optional<IndexRange> range_of_values(const Image& image) {
  std::optional<IndexRange> range;
  const Grid& grid = image.grid;
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i) {
        if (image.voxels[grid.index(i, j, k)] == 0) continue;
        const std::array<int, 3> at = {i, j, k};
        if (!range) range = {at, at};
        for (std::size_t axis = 0; axis < 3; ++axis) {
          range->first[axis] = std::min(range->first[axis], at[axis]);
          range->last[axis] = std::max(range->last[axis], at[axis]);
        }
      }
  return range;
}

}  // namespace

Grid grid_around(const Grid& grid, const Affine& to_world, std::optional<double> voxel_mm) {
  validate(grid);
  (void)to_world.inverse();  // throws where there is none
  const std::array<int, 3> axes = nearest_axes(to_world);
  const WorldBox box = world_box_of(to_world.after(Affine::of_centres(grid)),
                                    {{0, 0, 0}, {grid.size[0] - 1, grid.size[1] - 1, grid.size[2] - 1}});
  Grid result;
  for (int world = 0; world < 3; ++world) {
    const int own = axes[static_cast<std::size_t>(world)];
    double edge = static_cast<double>(grid.voxel_mm[own]) * norm(to_world.column(own));
    if (voxel_mm) edge *= std::max(1.0, std::floor(*voxel_mm / edge + rounding_of_counts));
    const double length = box.high[world] - box.low[world];
    result.size[world] = std::max(1, whole_count(length / edge));
    const double middle = 0.5 * (box.low[world] + box.high[world]);
    result.voxel_mm.set(world, static_cast<float>(edge));
    result.origin_mm.set(world, static_cast<float>(middle - 0.5 * (result.size[world] - 1) * edge));
  }
  validate(result);
  return result;
}

Grid grid_with(const Grid& grid, const Image& image, const Affine& to_world) {
  validate(grid);
  validate(image.grid);
  const std::optional<IndexRange> range = range_of_values(image);
  if (!range) return grid;
  const Affine index_of_world = Affine::of_centres(grid).inverse();
  const WorldBox box = world_box_of(index_of_world.after(to_world).after(Affine::of_centres(image.grid)), *range);
  Grid result = grid;
  for (int axis = 0; axis < 3; ++axis) {
    const int before = whole_count(-0.5 - box.low[axis]),
              behind = whole_count(box.high[axis] - (grid.size[axis] - 0.5));
    result.size[axis] += before + behind;
    result.origin_mm.set(axis, grid.origin_mm[axis] - static_cast<float>(before) * grid.voxel_mm[axis]);
  }
  validate(result);
  return result;
}

Image resampled(const Image& image, const Affine& to_world, const Grid& grid) {
  validate(grid);
  validate(image.grid);
  const Affine index_of_index =
      Affine::of_centres(image.grid).inverse().after(to_world.inverse()).after(Affine::of_centres(grid));
  const std::vector<Vec3d> points = points_in_voxel(index_of_index);
  const VoxelSampler sample(image);
  Image result = Image::zeros(grid);
  tbb::parallel_for(0, grid.size[2], [&](int k) {
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i) {
        const Vec3d centre =
            index_of_index(Vec3d{static_cast<double>(i), static_cast<double>(j), static_cast<double>(k)});
        double sum = 0;
        for (const Vec3d& point : points) sum += sample(centre + point);
        result.voxels[grid.index(i, j, k)] = static_cast<float>(sum / static_cast<double>(points.size()));
      }
  });
  return result;
}

Vec3 fwhm_before_resampling(const Grid& grid, const Affine& to_world, double fwhm_mm) {
  const double squared_fwhm_per_variance = 8 * std::numbers::ln2;
  Vec3 fwhm;
  for (int axis = 0; axis < 3; ++axis) {
    const auto edge = static_cast<double>(grid.voxel_mm[axis]);
    const double wanted = fwhm_mm / norm(to_world.column(axis));
    fwhm.set(axis, static_cast<float>(
                       std::sqrt(std::max(0.0, wanted * wanted - squared_fwhm_per_variance * edge * edge / 6))));
  }
  return fwhm;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
