#include "kernels/analysis/block_means.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace tofstream {

namespace {

// The mean of the block's voxels that the image has.
float block_mean(const Image& image, const std::array<int, 3>& first, int factor) {
  std::array<int, 3> end{};
  for (int axis = 0; axis < 3; ++axis)
    end[static_cast<std::size_t>(axis)] =
        std::min(first[static_cast<std::size_t>(axis)] + factor, image.grid.size[axis]);
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
  validate(image.grid);
  if (factor < 1) throw std::invalid_argument("block_means: a block has at least one voxel");
  Grid grid = image.grid;
  for (int& edge : grid.size) edge = (edge + factor - 1) / factor;
  grid.voxel_mm = static_cast<float>(factor) * image.grid.voxel_mm;
  grid.origin_mm = image.grid.origin_mm + 0.5F * static_cast<float>(factor - 1) * image.grid.voxel_mm;
  Image means = Image::zeros(grid);
  const std::span<float> values = means.voxels.span();
  std::size_t at = 0;
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i)
        values[at++] = block_mean(image, {i * factor, j * factor, k * factor}, factor);
  return means;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
