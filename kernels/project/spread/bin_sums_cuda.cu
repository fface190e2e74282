// Sums over bins' lines on a GPU, a thread a bin: see bin_sums.hpp. A bin joins few lines, and those of neighbours lie
// side by side.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/project/device_tally.cuh"
#include "kernels/project/spread/bin_sums.hpp"

namespace tofstream::detail {
namespace {

__global__ void mean_each_bin(const std::int64_t* first, std::int64_t bins, const float* lines, float* means) {
  const std::int64_t b = elementwise::element();
  if (b < bins) means[b] = mean_of_lines(first, b, lines);
}

__global__ void share_each_bin(const std::int64_t* first, std::int64_t bins, const float* values, float* lines) {
  const std::int64_t b = elementwise::element();
  if (b < bins) share_among_lines(first, b, values ? values[b] : 1.0f, lines);
}

// Threads past the last bin give to the tally, whose sums are a warp's, an event without counts.
__global__ void ratio_each_bin(EventView bins, const std::int64_t* first, float* lines, DeviceTally* tally) {
  const std::int64_t b = elementwise::element();
  EventRatio ratio;
  float expectation = 1;
  if (b < bins.count) {
    ratio = ratio_of_bin(bins, b, mean_of_lines(first, b, lines), &expectation);
    share_among_lines(first, b, ratio.ratio, lines);
  }
  add_tally(ratio, expectation, tally);
}

}  // namespace

void means_of_lines_cuda(const std::int64_t* first, std::int64_t bins, const float* lines, float* means,
                         Stream stream) {
  if (bins == 0) return;
  mean_each_bin<<<elementwise::blocks(bins), elementwise::threads, 0, stream>>>(first, bins, lines, means);
  check_launch("take the means of bins' lines");
}

void share_among_lines_cuda(const std::int64_t* first, std::int64_t bins, const float* values, float* lines,
                            Stream stream) {
  if (bins == 0) return;
  share_each_bin<<<elementwise::blocks(bins), elementwise::threads, 0, stream>>>(first, bins, values, lines);
  check_launch("share values among bins' lines");
}

EmTally ratios_among_lines_cuda(const EventView& bins, const std::int64_t* first, float* lines, Stream stream) {
  if (bins.count == 0) return {};
  auto tally = Buffer<DeviceTally>::zeros(Memory::device, 1, stream);
  ratio_each_bin<<<elementwise::blocks(bins.count), elementwise::threads, 0, stream>>>(bins, first, lines,
                                                                                         tally.data());
  check_launch("make the ratios of bins");
  return tally.to_vector(stream).front().on_host();
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
