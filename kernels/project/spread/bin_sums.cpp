// Sums over bins' lines on the CPU: see bin_sums.hpp. Tallies are added up in the order of blocks, so that they are the
// same on any number of threads.
#include "kernels/project/spread/bin_sums.hpp"

#include <algorithm>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/memory/refuse.hpp"

namespace tofstream::detail {
namespace {

constexpr std::int64_t bins_in_block = 4096;

template <class Visit>
void for_each_bin(std::int64_t bins, Visit&& visit) {
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, bins, bins_in_block), [&](const auto& range) {
    for (std::int64_t b = range.begin(); b < range.end(); ++b) visit(b);
  });
}

}  // namespace

void means_of_lines(const std::int64_t* first, std::int64_t bins, const float* lines, float* means, Backend backend,
                    Stream stream) {
  if (backend == Backend::cuda) return means_of_lines_cuda(first, bins, lines, means, stream);
  for_each_bin(bins, [&](std::int64_t b) { means[b] = mean_of_lines(first, b, lines); });
}

void share_among_lines(const std::int64_t* first, std::int64_t bins, const float* values, float* lines, Backend backend,
                       Stream stream) {
  if (backend == Backend::cuda) return share_among_lines_cuda(first, bins, values, lines, stream);
  for_each_bin(bins, [&](std::int64_t b) { share_among_lines(first, b, values ? values[b] : 1.0f, lines); });
}

EmTally ratios_among_lines(const EventView& bins, const std::int64_t* first, float* lines, Backend backend,
                           Stream stream) {
  if (backend == Backend::cuda) return ratios_among_lines_cuda(bins, first, lines, stream);
  const std::int64_t blocks = (bins.count + bins_in_block - 1) / bins_in_block;
  std::vector<EmTally> of_blocks(static_cast<std::size_t>(blocks));
  tbb::parallel_for(std::int64_t{0}, blocks, [&](std::int64_t block) {
    EventRatios ratios(bins);
    const std::int64_t begin = block * bins_in_block, end = std::min(begin + bins_in_block, bins.count);
    for (std::int64_t b = begin; b < end; ++b)
      share_among_lines(first, b, ratios.of(b, mean_of_lines(first, b, lines)), lines);
    of_blocks[static_cast<std::size_t>(block)] = ratios.tally();
  });
  EmTally sum;
  for (const EmTally& tally : of_blocks) sum += tally;
  return sum;
}

#ifndef TOFSTREAM_HAVE_CUDA
void means_of_lines_cuda(const std::int64_t*, std::int64_t, const float*, float*, Stream) {
  refuse_cuda();
}
void share_among_lines_cuda(const std::int64_t*, std::int64_t, const float*, float*, Stream) {
  refuse_cuda();
}
EmTally ratios_among_lines_cuda(const EventView&, const std::int64_t*, float*, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
