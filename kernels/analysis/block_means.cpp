#include "kernels/analysis/block_means.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>

#include <tbb/parallel_for.h>

namespace tofstream {

namespace {

// The mean of the block's voxels that the image has.
float block_mean(const Image& image, const std::array<int, 3>& first, const std::array<int, 3>& factors) {
  std::array<int, 3> end{};
  for (std::size_t axis = 0; axis < 3; ++axis) end[axis] = std::min(first[axis] + factors[axis], image.grid.size[axis]);
  const std::span<const float> voxels = image.voxels.span();
  double sum = 0;
  for (int k = first[2]; k < end[2]; ++k)
    for (int j = first[1]; j < end[1]; ++j)
      for (int i = first[0]; i < end[0]; ++i) sum += voxels[static_cast<std::size_t>(image.grid.index(i, j, k))];
  return static_cast<float>(sum / ((end[0] - first[0]) * (end[1] - first[1]) * (end[2] - first[2])));
}

}  // namespace

int shrink_factor(const Grid& grid, std::size_t most_voxels) {
  for (int factor = 1;; ++factor) {
    std::size_t voxels = 1;
    for (const int edge : grid.size) voxels *= static_cast<std::size_t>((edge + factor - 1) / factor);
    if (voxels <= std::max(most_voxels, std::size_t{1})) return factor;
  }
}

Image block_means(const Image& image, int factor) {
  return block_means(image, {factor, factor, factor});
}

Image block_means(const Image& image, const std::array<int, 3>& factors) {
  validate(image.grid);
  Grid grid = image.grid;
  for (int axis = 0; axis < 3; ++axis) {
    const int factor = factors[static_cast<std::size_t>(axis)];
    if (factor < 1) throw std::invalid_argument("block_means: a block has at least one voxel");
    const float edge_mm = image.grid.voxel_mm[axis];
    grid.size[axis] = (grid.size[axis] + factor - 1) / factor;
    grid.voxel_mm.set(axis, static_cast<float>(factor) * edge_mm);
    grid.origin_mm.set(axis, image.grid.origin_mm[axis] + 0.5F * static_cast<float>(factor - 1) * edge_mm);
  }
  Image means = Image::zeros(grid);
  const std::span<float> values = means.voxels.span();
  tbb::parallel_for(0, grid.size[2], [&](int k) {
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i)
        values[static_cast<std::size_t>(grid.index(i, j, k))] =
            block_mean(image, {i * factors[0], j * factors[1], k * factors[2]}, factors);
  });
  return means;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
