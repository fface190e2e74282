// What joseph.cpp asks of the CPU's and CUDA's files; grid and settings have been validated.
#pragma once

#include <algorithm>
#include <memory>

#include "kernels/project/cpu_projector.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/joseph/line_integrals.hpp"

namespace tofstream {

/// Bilinear weights end one edge from a voxel's centre, so half an edge beyond the image; a little more, for rounding.
inline float joseph_reach_mm(const Grid& grid) {
  return 0.501f * std::max({grid.voxel_mm.x, grid.voxel_mm.y, grid.voxel_mm.z});
}

/// The kernel compiled for the best instruction set of this machine.
std::unique_ptr<const CpuKernel> make_joseph_cpu_kernel(const Grid& grid, const JosephSettings& settings);
std::unique_ptr<ListModeProjector> make_joseph_cuda(const Grid& grid, const JosephSettings& settings);
/// Line integrals on CUDA that take 32 bytes a voxel.
std::unique_ptr<const LineIntegrals> make_quad_integrals(const Image& image);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
