// Whole counts as floats on the host: see float_counts.hpp.
#include "kernels/types/float_counts.hpp"

#include <algorithm>
#include <utility>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/memory/refuse.hpp"

namespace tofstream {

void to_float_counts(const std::uint16_t* counts, std::int64_t count, float* to, Memory memory, Stream stream) {
  if (!on_host(memory)) return to_float_counts_cuda(counts, count, to, stream);
  constexpr std::int64_t grain = 1 << 16;
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, count, grain), [&](const auto& range) {
    std::transform(counts + range.begin(), counts + range.end(), to + range.begin(),
                   [](std::uint16_t of_point) { return static_cast<float>(of_point); });
  });
}

ViewBatch with_float_counts(ViewBatch batch) {
  if (batch.whole_counts.empty()) return batch;
  batch.counts = Buffer<float>(batch.whole_counts.memory(), batch.whole_counts.size());
  to_float_counts(batch.whole_counts.data(), batch.whole_counts.size(), batch.counts.data(), batch.memory());
  synchronize(nullptr);
  batch.whole_counts = {};
  return batch;
}

#ifndef TOFSTREAM_HAVE_CUDA
void to_float_counts_cuda(const std::uint16_t*, std::int64_t, float*, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
