// See wrong_count.hpp.
#include "kernels/project/wrong_count.hpp"

#include <algorithm>

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include "kernels/memory/refuse.hpp"

namespace tofstream {

std::int64_t first_wrong_count(const float* counts, std::int64_t count, Backend backend, Stream stream) {
  if (backend == Backend::cuda) return detail::first_wrong_count_cuda(counts, count, stream);
  const auto in_range = [&](const tbb::blocked_range<std::int64_t>& range, std::int64_t first) {
    const float* const end = counts + range.end();
    const float* const wrong = std::find_if_not(counts + range.begin(), end, is_count);
    return wrong == end ? first : std::min<std::int64_t>(first, wrong - counts);
  };
  const std::int64_t first = tbb::parallel_reduce(tbb::blocked_range<std::int64_t>(0, count, 1 << 16), count, in_range,
                                                  [](std::int64_t a, std::int64_t b) { return std::min(a, b); });
  return first == count ? -1 : first;
}

#ifndef TOFSTREAM_HAVE_CUDA
std::int64_t detail::first_wrong_count_cuda(const float*, std::int64_t, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
