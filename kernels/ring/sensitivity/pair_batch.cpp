// Batches of drawn pairs on the CPU: see pair_batch.hpp.
#include "kernels/ring/sensitivity/pair_batch.hpp"

#include <algorithm>
#include <vector>

#include <tbb/parallel_for.h>

#include "kernels/memory/refuse.hpp"

namespace tofstream::detail {

PairBatch::PairBatch(std::int64_t capacity, Memory memory, Stream stream)
    : memory_(memory),
      stream_(stream),
      detector1_(memory, capacity, stream),
      detector2_(memory, capacity, stream),
      values_(memory, capacity, stream) {}

EventView PairBatch::events(const Detector* detectors) const {
  EventView view;
  view.count = count_;
  view.detectors = detectors;
  view.detector1 = detector1_.data();
  view.detector2 = detector2_.data();
  return view;
}

void PairBatch::draw(const PairDraws& draws, std::int64_t begin, std::int64_t end) {
  if (on_host(memory_)) {
    draw_cpu(draws, begin, end);
  } else {
    draw_cuda(draws, begin, end);
  }
}

// Chunks in parallel, each into its own part of the arrays, then moved together, in order.
void PairBatch::draw_cpu(const PairDraws& draws, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t chunk = 4096;
  const std::int64_t chunks = (end - begin + chunk - 1) / chunk;
  std::vector<std::int64_t> found(static_cast<std::size_t>(chunks));
  tbb::parallel_for(std::int64_t{0}, chunks, [&](std::int64_t c) {
    std::int64_t at = c * chunk;
    PairCursor cursor(draws.list);
    for (std::int64_t n = begin + c * chunk; n < std::min(end, begin + (c + 1) * chunk); ++n) {
      const DrawnPair drawn = draws.draw(cursor, n);
      if (!(drawn.value > 0)) continue;
      detector1_[at] = drawn.pair.detector1;
      detector2_[at] = drawn.pair.detector2;
      values_[at++] = drawn.value;
    }
    found[static_cast<std::size_t>(c)] = at - c * chunk;
  });
  count_ = 0;
  for (std::int64_t c = 0; c < chunks; ++c) {
    const std::int64_t n = found[static_cast<std::size_t>(c)];
    const auto together = [&](auto& array) { std::copy_n(array.data() + c * chunk, n, array.data() + count_); };
    together(detector1_);
    together(detector2_);
    together(values_);
    count_ += n;
  }
}

#ifndef TOFSTREAM_HAVE_CUDA
void PairBatch::draw_cuda(const PairDraws&, std::int64_t, std::int64_t) {
  refuse_cuda();
}
#endif

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
