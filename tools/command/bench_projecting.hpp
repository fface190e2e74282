// What the benchmarks of projectors share: the TOR as papers and peers have it, and an image to project.
#pragma once

#include <algorithm>
#include <random>

#include "kernels/project/tor/tor.hpp"
#include "kernels/types/image.hpp"

namespace tofstream::command {

/// A Gaussian tube of the given diameter, cut at 2.74 sigma.
inline TorSettings tor_settings(const Grid& grid, double tube_width_voxels, CudaPath path) {
  const float radius =
      0.5f * static_cast<float>(tube_width_voxels) * std::max({grid.voxel_mm.x, grid.voxel_mm.y, grid.voxel_mm.z});
  return {.response = RadialResponse::gaussian(0.86f * radius, radius), .cuda_path = path};
}

/// Voxels uniform in [0.5, 1.5), the same at every call.
inline Image test_image(const Grid& grid) {
  Image image{grid, Buffer<float>(Memory::host, grid.voxels())};
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> value(0.5f, 1.5f);
  for (float& voxel : image.voxels.span()) voxel = value(engine);
  return image;
}

}  // namespace tofstream::command
