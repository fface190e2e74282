// A Gaussian within an image's border: see smooth_within.hpp.
#include "kernels/filter/smooth_within.hpp"

#include <array>

#include <tbb/parallel_for.h>

#include "kernels/filter/gaussian_psf.hpp"

namespace tofstream {
namespace {

/// For each of `count` voxels along an axis the share of the Gaussian that lies within them.
Image shares_along(int count, float edge_mm, float fwhm_mm) {
  Image ones = Image::filled(Grid::centred(count, 1, 1, {edge_mm, edge_mm, edge_mm}), 1);
  GaussianPsf(ones.grid, {fwhm_mm, 0, 0}, Backend::cpu).apply(ones);
  return ones;
}

}  // namespace

void smooth_within(Image& image, Vec3 fwhm_mm) {
  const Grid& grid = image.grid;
  GaussianPsf gaussian(grid, fwhm_mm, Backend::cpu);
  if (gaussian.is_identity()) return;
  gaussian.apply(image);
  const std::array<Image, 3> shares = {shares_along(grid.size[0], grid.voxel_mm.x, fwhm_mm.x),
                                       shares_along(grid.size[1], grid.voxel_mm.y, fwhm_mm.y),
                                       shares_along(grid.size[2], grid.voxel_mm.z, fwhm_mm.z)};
  const auto share = [&](std::size_t axis, int i) { return shares[axis].voxels[static_cast<std::size_t>(i)]; };
  tbb::parallel_for(0, grid.size[2], [&](int k) {
    for (int j = 0; j < grid.size[1]; ++j) {
      const float across = share(1, j) * share(2, k);
      for (int i = 0; i < grid.size[0]; ++i) image.voxels[grid.index(i, j, k)] /= across * share(0, i);
    }
  });
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
