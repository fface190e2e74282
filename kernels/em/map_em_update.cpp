// Penalised EM on the CPU, and the choice of backend: see map_em_update.hpp.
#include "kernels/em/map_em_update.hpp"

#include <functional>

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include "kernels/em/map_em_voxel.hpp"
#include "kernels/em/update_images.hpp"
#include "kernels/memory/refuse.hpp"

namespace tofstream {
namespace {

std::int64_t map_em_cpu(const detail::MapEmArrays& arrays, std::int64_t voxels) {
  constexpr std::int64_t grain = 1 << 15;
  return tbb::parallel_reduce(
      tbb::blocked_range<std::int64_t>(0, voxels, grain), std::int64_t{0},
      [&](const auto& range, std::int64_t replaced) {
        for (std::int64_t v = range.begin(); v < range.end(); ++v) replaced += detail::map_em_voxel(arrays, v);
        return replaced;
      },
      std::plus<>());
}

}  // namespace

std::int64_t map_em_update(Image& estimate, const Image& inverse_sensitivity, const Image& backprojection,
                           double time_fraction, const SurrogateTerm& term, Stream stream) {
  const auto require = [&](const Image& image, const char* name) {
    detail::require_like("MAP-EM", estimate, image, name);
  };
  require(inverse_sensitivity, "inverse sensitivity");
  require(backprojection, "back projection");
  require(term.gradient, "penalty's gradient");
  require(term.curvature, "penalty's curvature");
  require(term.inverse_whole, "inverse sensitivity of the whole");
  detail::require_time_fraction(time_fraction);
  const detail::MapEmArrays arrays{estimate.voxels.data(),
                                   inverse_sensitivity.voxels.data(),
                                   backprojection.voxels.data(),
                                   term.gradient.voxels.data(),
                                   term.curvature.voxels.data(),
                                   term.inverse_whole.voxels.data(),
                                   static_cast<float>(1 / time_fraction),
                                   term.least_ratio};
  const std::int64_t voxels = estimate.voxels.size();
  return on_host(estimate.voxels.memory()) ? map_em_cpu(arrays, voxels) : detail::map_em_cuda(arrays, voxels, stream);
}

#ifndef TOFSTREAM_HAVE_CUDA
std::int64_t detail::map_em_cuda(const MapEmArrays&, std::int64_t, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
