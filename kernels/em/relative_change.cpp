// The relative change on the CPU, and the choice of backend: see relative_change.hpp.
#include "kernels/em/relative_change.hpp"

#include <cmath>
#include <limits>

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include "kernels/em/relative_change_voxel.hpp"
#include "kernels/em/update_images.hpp"
#include "kernels/memory/refuse.hpp"

namespace tofstream {
namespace {

detail::ChangeSums host_sums(const detail::ChangeArrays& arrays) {
  constexpr std::int64_t grain = 1 << 16;
  // A deterministic reduction: its tree does not depend on which thread was free.
  return tbb::parallel_deterministic_reduce(
      tbb::blocked_range<std::int64_t>(0, arrays.voxels, grain), detail::ChangeSums{},
      [&](const auto& range, detail::ChangeSums sums) {
        for (std::int64_t v = range.begin(); v < range.end(); ++v) sums.add_voxel(arrays, v);
        return sums;
      },
      [](detail::ChangeSums a, const detail::ChangeSums& b) {
        a.add(b);
        return a;
      });
}

}  // namespace

double relative_change(const Image& before, const Image& after, Stream stream) {
  detail::require_like("relative change", before, after, "image after the update");
  const detail::ChangeArrays arrays{before.voxels.data(), after.voxels.data(), before.voxels.size()};
  const detail::ChangeSums sums =
      on_host(before.voxels.memory()) ? host_sums(arrays) : detail::change_sums_cuda(arrays, stream);
  if (sums.difference == 0) return 0;
  return sums.before > 0 ? std::sqrt(sums.difference / sums.before) : std::numeric_limits<double>::infinity();
}

#ifndef TOFSTREAM_HAVE_CUDA
detail::ChangeSums detail::change_sums_cuda(const ChangeArrays&, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
