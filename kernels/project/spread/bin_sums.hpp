// Sums over the lines of bins, and shares among them: what lies between forward and back projection of bins whose lines
// are projected one by one. `first`: of each bin's lines, which follow one another; and one more, their number.
#pragma once

#include <cstdint>

#include "kernels/math/host_device.hpp"
#include "kernels/project/event_ratio.hpp"
#include "kernels/types/em_tally.hpp"
#include "kernels/types/events.hpp"

namespace tofstream::detail {

/// The mean of a bin's lines; 0 of none, so that its counts are skipped.
TOFSTREAM_HOST_DEVICE inline float mean_of_lines(const std::int64_t* first, std::int64_t bin, const float* lines) {
  const std::int64_t begin = first[bin], end = first[bin + 1];
  float sum = 0;
  for (std::int64_t l = begin; l < end; ++l) sum += lines[l];
  return end > begin ? sum / static_cast<float>(end - begin) : 0;
}

TOFSTREAM_HOST_DEVICE inline void share_among_lines(const std::int64_t* first, std::int64_t bin, float value,
                                                    float* lines) {
  const std::int64_t begin = first[bin], end = first[bin + 1];
  for (std::int64_t l = begin; l < end; ++l) lines[l] = value / static_cast<float>(end - begin);
}

/// What a bin gives to EM for the projections of its lines.
TOFSTREAM_HOST_DEVICE inline EventRatio ratio_of_bin(const EventView& bins, std::int64_t bin, float mean,
                                                     float* expectation) {
  *expectation = bins.additive ? mean + bins.additive[bin] : mean;
  return EventRatio::of(bins.counts, bin, *expectation);
}

/// means[b] = mean of lines of bin b.
void means_of_lines(const std::int64_t* first, std::int64_t bins, const float* lines, float* means, Backend backend,
                    Stream stream);
/// lines[l] = values[b] / n_b of the bin b of each line; values null: ones.
void share_among_lines(const std::int64_t* first, std::int64_t bins, const float* values, float* lines,
                       Backend backend, Stream stream);
/// Replaces the projections of lines by the ratios of EM of their bins over n_b. The tally is complete on return.
EmTally ratios_among_lines(const EventView& bins, const std::int64_t* first, float* lines, Backend backend,
                           Stream stream);

void means_of_lines_cuda(const std::int64_t* first, std::int64_t bins, const float* lines, float* means,
                         Stream stream);
void share_among_lines_cuda(const std::int64_t* first, std::int64_t bins, const float* values, float* lines,
                            Stream stream);
EmTally ratios_among_lines_cuda(const EventView& bins, const std::int64_t* first, float* lines, Stream stream);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
