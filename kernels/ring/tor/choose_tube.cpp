// The Gaussian tube of a scanner and an image: see choose_tube.hpp.
#include "kernels/ring/tor/choose_tube.hpp"

#include <algorithm>

#include "kernels/grid/choose_grid.hpp"

namespace tofstream {
namespace {

constexpr float widest_voxels = 64;

float largest_edge_mm(const Grid& grid) {
  return std::max({grid.voxel_mm.x, grid.voxel_mm.y, grid.voxel_mm.z});
}

float width_that_holds(float fwhm_mm, float edge_mm) {
  return std::clamp(fwhm_mm / (usual_fwhm_of_diameter * edge_mm), least_width_voxels, widest_voxels);
}

}  // namespace

float least_fwhm_mm(const Grid& grid) {
  return usual_fwhm_of_diameter * least_width_voxels * largest_edge_mm(grid);
}

GaussianTube choose_tube(const Scanner& scanner, const Grid& grid, float width_voxels, float fwhm_mm) {
  const float edge = largest_edge_mm(grid);
  if (width_voxels > 0) return {width_voxels, fwhm_mm > 0 ? fwhm_mm : usual_fwhm_of_diameter * width_voxels * edge, {}};
  if (fwhm_mm > 0) return {width_that_holds(fwhm_mm, edge), fwhm_mm, {}};
  const float crystal = detector_pitch_mm(scanner);
  if (!(crystal > 0)) return {least_plain_width_voxels, usual_fwhm_of_diameter * least_plain_width_voxels * edge, {}};
  const float fwhm = std::max(0.5f * crystal, least_fwhm_mm(grid));
  return {width_that_holds(fwhm, edge), fwhm, crystal};
}

Normalise usual_normalise(float width_voxels) {
  return width_voxels < least_plain_width_voxels ? Normalise::slice : Normalise::none;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
