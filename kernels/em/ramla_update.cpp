// RAMLA's update on the CPU, and the choice of backend: see ramla_update.hpp.
#include "kernels/em/ramla_update.hpp"

#include <functional>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include "kernels/em/em_voxel.hpp"
#include "kernels/em/ramla_voxel.hpp"
#include "kernels/em/update_images.hpp"
#include "kernels/memory/refuse.hpp"

namespace tofstream {

namespace {

using RamlaRange = tbb::blocked_range<std::int64_t>;
constexpr std::int64_t ramla_grain = 1 << 15;

std::int64_t ramla_update_cpu(const detail::RamlaArrays& arrays, std::int64_t voxels) {
  return tbb::parallel_reduce(
      RamlaRange(0, voxels, ramla_grain), std::int64_t{0},
      [&](const RamlaRange& range, std::int64_t count) {
        int replaced = 0;
        for (std::int64_t v = range.begin(); v < range.end(); ++v)
          arrays.estimate[v] = detail::ramla_voxel(detail::RamlaVoxel::of(arrays, v), arrays, replaced);
        return count + replaced;
      },
      std::plus<>());
}

}  // namespace

std::int64_t ramla_update(Image& estimate, const RamlaBlock& block, double relaxation, Stream stream) {
  if (!(relaxation > 0 && relaxation <= 1))
    throw std::invalid_argument(fmt::format("relaxation must be in (0, 1], not {}", relaxation));
  detail::require_like("RAMLA", estimate, block.sensitivity, "sensitivity");
  detail::require_like("RAMLA", estimate, block.inverse, "inverse sensitivity");
  detail::require_like("RAMLA", estimate, block.back_projection, "back projection");
  detail::require_time_fraction(block.time_fraction);
  const float largest = block.largest_sensitivity;
  if (!(largest > 0 && largest <= std::numeric_limits<float>::max()))
    throw std::invalid_argument(
        fmt::format("RAMLA needs the largest sensitivity, finite and positive, not {:g}", largest));
  const double step = relaxation / static_cast<double>(largest);
  const detail::RamlaArrays arrays{estimate.voxels.data(),      block.sensitivity.voxels.data(),
                                   block.inverse.voxels.data(), block.back_projection.voxels.data(),
                                   static_cast<float>(step),    static_cast<float>(step / block.time_fraction)};
  const std::int64_t voxels = estimate.voxels.size();
  return on_host(estimate.voxels.memory()) ? ramla_update_cpu(arrays, voxels)
                                           : detail::ramla_update_cuda(arrays, voxels, stream);
}

#ifndef TOFSTREAM_HAVE_CUDA
std::int64_t detail::ramla_update_cuda(const RamlaArrays&, std::int64_t, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
