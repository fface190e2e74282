// RAMLA's update on the CPU, and the choice of backend: see ramla_update.hpp.
#include "kernels/em/ramla_update.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include "kernels/cuda/refuse.hpp"
#include "kernels/em/em_voxel.hpp"
#include "kernels/em/ramla_voxel.hpp"
#include "kernels/em/update_images.hpp"

namespace tofstream {

namespace {

using RamlaRange = tbb::blocked_range<std::int64_t>;
constexpr std::int64_t ramla_grain = 1 << 15;

float ramla_maximum(const float* s, std::int64_t voxels) {
  return tbb::parallel_reduce(
      RamlaRange(0, voxels, ramla_grain), 0.0f,
      [&](const RamlaRange& range, float maximum) {
        for (std::int64_t v = range.begin(); v < range.end(); ++v) maximum = std::max(maximum, detail::magnitude(s[v]));
        return maximum;
      },
      [](float a, float b) { return std::max(a, b); });
}

detail::RamlaFound ramla_update_cpu(const detail::RamlaArrays& arrays, std::int64_t voxels) {
  const float maximum = ramla_maximum(arrays.sensitivity, voxels);
  if (!detail::RamlaFactors::can_be(maximum)) return {maximum, 0};
  const detail::RamlaFactors factors(arrays, maximum);
  const auto replaced = tbb::parallel_reduce(
      RamlaRange(0, voxels, ramla_grain), std::int64_t{0},
      [&](const RamlaRange& range, std::int64_t count) {
        int replaced_here = 0;
        for (std::int64_t v = range.begin(); v < range.end(); ++v)
          arrays.estimate[v] = detail::ramla_voxel(detail::RamlaVoxel::of(arrays, v), factors, replaced_here);
        return count + replaced_here;
      },
      std::plus<>());
  return {maximum, replaced};
}

}  // namespace

std::int64_t ramla_update(Image& estimate, const RamlaBlock& block, double relaxation, Stream stream) {
  if (!(relaxation > 0 && relaxation <= 1))
    throw std::invalid_argument(fmt::format("relaxation must be in (0, 1], not {}", relaxation));
  detail::require_like("RAMLA", estimate, block.sensitivity, "sensitivity");
  detail::require_like("RAMLA", estimate, block.inverse, "inverse sensitivity");
  detail::require_like("RAMLA", estimate, block.back_projection, "back projection");
  detail::require_time_fraction(block.time_fraction);
  const detail::RamlaArrays arrays{estimate.voxels.data(),
                                   block.sensitivity.voxels.data(),
                                   block.inverse.voxels.data(),
                                   block.back_projection.voxels.data(),
                                   relaxation,
                                   block.time_fraction};
  const std::int64_t voxels = estimate.voxels.size();
  const detail::RamlaFound found = on_host(estimate.voxels.memory())
                                       ? ramla_update_cpu(arrays, voxels)
                                       : detail::ramla_update_cuda(arrays, voxels, stream);
  if (!detail::RamlaFactors::can_be(found.maximum))
    throw std::invalid_argument("RAMLA needs a finite sensitivity that is positive somewhere");
  return found.replaced;
}

#ifndef TOFSTREAM_HAVE_CUDA
detail::RamlaFound detail::ramla_update_cuda(const RamlaArrays&, std::int64_t, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
