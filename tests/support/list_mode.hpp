// Small list modes for projector tests: lines given by their ends, random lines across a grid,
// images of noise.
#pragma once

#include <random>
#include <span>
#include <vector>

#include "kernels/types/events.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

/// Events of free endpoints; with `tof`.sigma_mm 0 they are non-ToF.
inline EventBatch events_of(std::span<const Lor> lors, TofModel tof = {}) {
  EventBatch batch;
  batch.count = static_cast<std::int64_t>(lors.size());
  batch.tof = tof;
  for (auto& end : batch.ends) end = Buffer<float>(Memory::host, batch.count);
  if (tof.sigma_mm > 0) batch.tof_mm = Buffer<float>(Memory::host, batch.count);
  for (std::int64_t i = 0; i < batch.count; ++i) {
    const Lor& lor = lors[static_cast<std::size_t>(i)];
    for (int axis = 0; axis < 3; ++axis) {
      batch.ends[axis][i] = lor.end1[axis];
      batch.ends[axis + 3][i] = lor.end2[axis];
    }
    if (!batch.tof_mm.empty()) batch.tof_mm[i] = lor.tof_mm;
  }
  return batch;
}

/// Lines through random points of the grid's box, of random directions, `half_length_mm` long to
/// either side of a random midpoint on the line near the box's centre; ToF centres within the box.
inline std::vector<Lor> random_lines(const Grid& grid, int count, unsigned seed, float half_length_mm = 400) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> unit(0, 1);
  std::normal_distribution<float> normal;
  std::vector<Lor> lors;
  const auto point = [&] {
    Vec3 p;
    for (int axis = 0; axis < 3; ++axis)
      p.set(axis,
            grid.origin_mm[axis] + (unit(engine) * static_cast<float>(grid.size[axis]) - 0.5f) * grid.voxel_mm[axis]);
    return p;
  };
  for (int i = 0; i < count; ++i) {
    const Vec3 through = point();
    const Vec3 raw{normal(engine), normal(engine), normal(engine)};
    const Vec3 direction = (1 / norm(raw)) * raw;
    const float shift = 40 * (unit(engine) - 0.5f);
    const float tof = dot(point() - through, direction) - shift;
    lors.push_back(
        {through + (shift - half_length_mm) * direction, through + (shift + half_length_mm) * direction, tof});
  }
  return lors;
}

/// Voxels uniform in [0.5, 1.5].
inline Image noise_image(const Grid& grid, unsigned seed) {
  Image image = Image::zeros(grid);
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> value(0.5f, 1.5f);
  for (float& voxel : image.voxels.span()) voxel = value(engine);
  return image;
}

/// The largest difference of two arrays over the range of the second, zero included.
inline double largest_deviation(std::span<const float> a, std::span<const float> b) {
  double largest = 0, low = 0, high = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
    low = std::min<double>(low, b[i]);
    high = std::max<double>(high, b[i]);
  }
  return high > low ? largest / (high - low) : largest;
}

}  // namespace tofstream
