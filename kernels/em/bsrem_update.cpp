// BSREM's update on the CPU, and the choice of backend: see bsrem_update.hpp.
#include "kernels/em/bsrem_update.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include "kernels/em/bsrem_voxel.hpp"
#include "kernels/em/update_images.hpp"
#include "kernels/memory/refuse.hpp"

namespace tofstream {
namespace {

BsremFaults bsrem_cpu(const detail::BsremArrays& arrays, std::int64_t voxels) {
  constexpr std::int64_t grain = 1 << 15;
  return tbb::parallel_reduce(
      tbb::blocked_range<std::int64_t>(0, voxels, grain), BsremFaults{},
      [&](const auto& range, BsremFaults faults) {
        for (std::int64_t v = range.begin(); v < range.end(); ++v) {
          const detail::BsremVoxel here = detail::bsrem_voxel(arrays, v);
          faults += {here.not_finite, here.bounded};
        }
        return faults;
      },
      [](BsremFaults a, const BsremFaults& b) { return a += b; });
}

void check_bsrem_step(const BsremStep& step) {
  const auto require = [](const char* name, double value, bool may_be_zero) {
    if (std::isfinite(value) && (value > 0 || (may_be_zero && value == 0))) return;
    throw std::invalid_argument(
        fmt::format("BSREM: {} must be finite and {}, not {}", name, may_be_zero ? "not negative" : "positive", value));
  };
  require("relaxation", step.relaxation, false);
  require("a subset's weight", step.weight, false);
  require("offset", step.offset, true);
  require("bound", step.bound, true);
  require("highest value", step.highest, true);
}

float bsrem_limit(double value) {
  return value > 0 ? static_cast<float>(value) : std::numeric_limits<float>::max();
}

}  // namespace

BsremFaults bsrem_update(Image& estimate, const BsremBlock& block, const BsremStep& step, Stream stream) {
  const auto require = [&](const Image& image, const char* name) {
    detail::require_like("BSREM", estimate, image, name);
  };
  require(block.inverse, "inverse sensitivity");
  require(block.inverse_whole, "inverse sensitivity of the whole");
  require(block.back_projection, "back projection");
  if (block.gradient) require(*block.gradient, "penalty's gradient");
  detail::require_time_fraction(block.time_fraction);
  check_bsrem_step(step);
  const detail::BsremArrays arrays{.estimate = estimate.voxels.data(),
                                   .inverse = block.inverse.voxels.data(),
                                   .inverse_whole = block.inverse_whole.voxels.data(),
                                   .back_projection = block.back_projection.voxels.data(),
                                   .gradient = block.gradient ? block.gradient->voxels.data() : nullptr,
                                   .inverse_time_fraction = static_cast<float>(1 / block.time_fraction),
                                   .step = static_cast<float>(step.relaxation * step.weight),
                                   .offset = static_cast<float>(step.offset),
                                   .bound = bsrem_limit(step.bound),
                                   .highest = bsrem_limit(step.highest)};
  const std::int64_t voxels = estimate.voxels.size();
  return on_host(estimate.voxels.memory()) ? bsrem_cpu(arrays, voxels) : detail::bsrem_cuda(arrays, voxels, stream);
}

#ifndef TOFSTREAM_HAVE_CUDA
BsremFaults detail::bsrem_cuda(const BsremArrays&, std::int64_t, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
