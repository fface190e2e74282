// Terms of events on the CPU: see term_lookup.hpp.
#include "kernels/ring/correct/term_lookup.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/memory/refuse.hpp"

namespace tofstream::detail {

namespace {

/// Calls work(i) for each of `count` events, on all threads; a thread's results fill cache lines of its own.
template <class Work>
void for_each_event(std::int64_t count, const Work& work) {
  constexpr std::int64_t grain = 2048;
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, count, grain), [&](const auto& range) {
    for (std::int64_t i = range.begin(); i < range.end(); ++i) work(i);
  });
}

}  // namespace

void look_up_multiplicative(const TermLookup& lookup, float* multiplicative, Memory memory, Stream stream) {
  if (!on_host(memory)) return look_up_multiplicative_cuda(lookup, multiplicative, stream);
  for_each_event(lookup.events.count,
                 [&](std::int64_t i) { multiplicative[i] = lookup.multiplicative(i, multiplicative[i]); });
}

void look_up_additive(const TermLookup& lookup, float* additive, Memory memory, Stream stream) {
  if (!on_host(memory)) return look_up_additive_cuda(lookup, additive, stream);
  for_each_event(lookup.events.count, [&](std::int64_t i) { additive[i] = lookup.additive(i); });
}

void fill_ones(float* values, std::int64_t count, Memory memory, Stream stream) {
  if (!on_host(memory)) return fill_ones_cuda(values, count, stream);
  for_each_event(count, [&](std::int64_t i) { values[i] = 1; });
}

#ifndef TOFSTREAM_HAVE_CUDA
void look_up_multiplicative_cuda(const TermLookup&, float*, Stream) {
  refuse_cuda();
}
void look_up_additive_cuda(const TermLookup&, float*, Stream) {
  refuse_cuda();
}
void fill_ones_cuda(float*, std::int64_t, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
