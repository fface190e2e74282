// Grids are checked and images filled here: see grid.hpp and image.hpp.
#include "kernels/types/image.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/memory/refuse.hpp"
#include "kernels/types/fill.hpp"

namespace tofstream {

namespace {

void validate_blob(const Grid& grid) {
  const Vec3 edge = grid.voxel_mm;
  for (int axis = 1; axis < 3; ++axis)
    if (!(std::abs(edge[axis] - edge[0]) <= 1e-4f * edge[0]))
      throw std::invalid_argument(
          fmt::format("blobs need a cubic lattice: give equal edges, not [{}, {}, {}] mm", edge.x, edge.y, edge.z));
  if (!(grid.blob.radius_mm >= 0.5f * edge.x && grid.blob.radius_mm <= 8 * edge.x))
    throw std::invalid_argument(
        fmt::format("the radius of a blob must be in [0.5, 8] edges of its lattice ({} mm), "
                    "not {} mm",
                    edge.x, grid.blob.radius_mm));
  if (!(grid.blob.alpha >= 0.001f && grid.blob.alpha <= 500))
    throw std::invalid_argument(fmt::format("alpha of a blob must be in [0.001, 500], not {}", grid.blob.alpha));
}

}  // namespace

void validate(const Grid& grid) {
  if (grid.has_blobs())
    throw std::invalid_argument(
        "this needs an image of voxels, and got one of blobs: use blob_projector on it, and blob_to_voxels before "
        "whatever else reads it");
  validate_basis(grid);
}

void validate_basis(const Grid& grid) {
  for (int axis = 0; axis < 3; ++axis) {
    if (grid.size[axis] < 1 || grid.size[axis] > 4096)
      throw std::invalid_argument(
          fmt::format("image size must be in [1, 4096] voxels on each axis, not {}", grid.size[axis]));
    if (!(std::isfinite(grid.voxel_mm[axis]) && grid.voxel_mm[axis] > 0))
      throw std::invalid_argument(
          fmt::format("voxel edges must be finite and positive (mm), not {}", grid.voxel_mm[axis]));
    if (!std::isfinite(grid.origin_mm[axis]))
      throw std::invalid_argument(fmt::format("the image's origin must be finite (mm), not {}", grid.origin_mm[axis]));
  }
  if (grid.blob != Blob{}) validate_blob(grid);
}

Image Image::filled(const Grid& grid, float value, Memory memory, Stream stream) {
  Image image{grid, Buffer<float>(memory, grid.voxels(), stream)};
  if (!on_host(memory)) {
    detail::fill_cuda(image.voxels.data(), value, image.voxels.size(), stream);
    return image;
  }
  const std::span<float> voxels = image.voxels.span();
  constexpr std::size_t grain = std::size_t{1} << 18;
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, voxels.size(), grain),
                    [&](const auto& range) { std::ranges::fill(voxels.subspan(range.begin(), range.size()), value); });
  return image;
}

#ifndef TOFSTREAM_HAVE_CUDA
void detail::fill_cuda(float*, float, std::int64_t, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
