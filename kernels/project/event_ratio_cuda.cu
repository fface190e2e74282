// Ratios of events on a GPU: see event_ratio_cuda.cuh.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/project/event_ratio_cuda.cuh"

namespace tofstream {

namespace {

__global__ void __launch_bounds__(elementwise::threads)
    take_ratios(EventView events, float* numbers, DeviceTally* tally) {
  const std::int64_t i = elementwise::element();
  EventRatio event;
  float expectation = 0;
  if (i < events.count) {
    expectation = numbers[i] + (events.additive ? events.additive[i] : 0.0f);
    event = EventRatio::of(events.counts, i, expectation);
    numbers[i] = event.ratio;
  }
  add_tally(event, expectation, tally);
}

}  // namespace

void make_ratios(const EventView& events, float* numbers, DeviceTally* tally, Stream stream) {
  if (events.count == 0) return;
  take_ratios<<<elementwise::blocks(events.count), elementwise::threads, 0, stream>>>(events, numbers, tally);
  check_launch("take the events' ratios");
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
