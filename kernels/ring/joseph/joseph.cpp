// Checks settings and chooses the backend's Joseph projector: see joseph.hpp.
#include "kernels/ring/joseph/joseph.hpp"

#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/memory/refuse.hpp"
#include "kernels/project/cpu_projector.hpp"
#include "kernels/ring/joseph/joseph_backends.hpp"

namespace tofstream {

void validate(const JosephSettings& settings) {
  if (!(std::isfinite(settings.tof_cut_sigma) && settings.tof_cut_sigma > 0))
    throw std::invalid_argument(
        fmt::format("the ToF cut must be finite and positive (sigma), not {}: 3 is usual", settings.tof_cut_sigma));
  if (settings.cuda_path == CudaPath::paper)
    throw std::invalid_argument(
        "Joseph's projector has no slices of Cui et al. 2011: use the TOR projector for its scheme");
}

std::unique_ptr<ListModeProjector> make_joseph_projector(const Grid& grid, const JosephSettings& settings,
                                                         Backend backend) {
  validate(settings);
  validate(grid);
  if (grid.voxels() >= std::int64_t{1} << 31)
    throw std::invalid_argument(fmt::format(
        "Joseph's projector takes images of fewer than 2^31 voxels, not {}: use larger voxels", grid.voxels()));
  if (backend == Backend::cpu)
    return std::make_unique<CpuProjector>(
        grid, make_joseph_cpu_kernel(grid, settings),
        CpuProjectorSettings{.reach_mm = joseph_reach_mm(grid), .deterministic = settings.deterministic});
  require_cuda();
  return make_joseph_cuda(grid, settings);
}

#ifndef TOFSTREAM_HAVE_CUDA
std::unique_ptr<ListModeProjector> make_joseph_cuda(const Grid&, const JosephSettings&) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
