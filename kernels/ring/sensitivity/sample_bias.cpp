// On the CPU, and the choice of backend: see sample_bias.hpp.
#include "kernels/ring/sensitivity/sample_bias.hpp"

#include <stdexcept>
#include <utility>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

#include "kernels/analysis/compare.hpp"
#include "kernels/memory/refuse.hpp"

namespace tofstream {

namespace {

using detail::SampleBiasArrays;
using detail::SampleBiasSums;

constexpr std::int64_t bias_grain = 1 << 15;

/// In an order that does not depend on the number of threads.
SampleBiasSums sums_of(const SampleBiasArrays& arrays) {
  return tbb::parallel_deterministic_reduce(
      tbb::blocked_range<std::int64_t>(0, arrays.voxels, bias_grain), SampleBiasSums{},
      [&](const auto& range, SampleBiasSums sums) {
        for (std::int64_t v = range.begin(); v < range.end(); ++v) sums.add_voxel(arrays, v);
        return sums;
      },
      [](SampleBiasSums a, const SampleBiasSums& b) {
        a.add(b);
        return a;
      });
}

void remove_on_host(const SampleBiasArrays& arrays, float updates) {
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, arrays.voxels, bias_grain), [&](const auto& range) {
    for (std::int64_t v = range.begin(); v < range.end(); ++v) detail::remove_from_voxel(arrays, updates, v);
  });
}

}  // namespace

double remove_sample_bias(const SampleNoise& noise, const Image& sensitivity, const Image& estimate,
                          Image& back_projection, Stream stream) {
  const bool host = on_host(estimate.voxels.memory());
  for (const Image* image : {&noise.held_out, &noise.variance, &sensitivity, &std::as_const(back_projection)}) {
    require_same_grid(image->grid, estimate.grid);
    if (on_host(image->voxels.memory()) != host)
      throw std::invalid_argument("the sensitivity, the estimate and its back projection lie in different memories");
  }
  const SampleBiasArrays arrays{noise.held_out.voxels.data(), noise.variance.voxels.data(),  sensitivity.voxels.data(),
                                estimate.voxels.data(),       back_projection.voxels.data(), estimate.voxels.size()};
  const double updates =
      (host ? sums_of(arrays) : detail::sample_bias_sums_cuda(arrays, stream)).updates(noise.undrawn);
  if (host) {
    remove_on_host(arrays, static_cast<float>(updates));
  } else {
    detail::remove_sample_bias_cuda(arrays, static_cast<float>(updates), stream);
    synchronize(stream);
  }
  return updates;
}

#ifndef TOFSTREAM_HAVE_CUDA
detail::SampleBiasSums detail::sample_bias_sums_cuda(const SampleBiasArrays&, Stream) {
  refuse_cuda();
}
void detail::remove_sample_bias_cuda(const SampleBiasArrays&, float, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
