// Copies of single events: see cut_events.hpp.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/project/tiled/cut_events.hpp"

namespace tofstream::tiled {

namespace {

/// Arrays of 32-bit numbers, as all arrays of events are.
struct Arrays {
  const std::uint32_t* from[13];
  int count = 0;
};

/// Calls use(pointer) for each array that the view has.
template <class Use>
void for_each_pointer(EventView& view, Use&& use) {
  const auto if_there = [&](auto& pointer) {
    if (pointer) use(pointer);
  };
  if_there(view.detector1);
  if_there(view.detector2);
  for (auto& end : view.ends) if_there(end);
  if_there(view.tof_mm);
  if_there(view.tof_width_mm);
  if_there(view.multiplicative);
  if_there(view.additive);
  if_there(view.counts);
}

__global__ void gather_words(Arrays arrays, const std::uint32_t* which, std::int64_t count, std::uint32_t* to) {
  const std::int64_t i = elementwise::element();
  if (i >= count) return;
  const std::uint32_t event = which[i];
  for (int array = 0; array < arrays.count; ++array) to[array * count + i] = arrays.from[array][event];
}

__global__ void gather_numbers(const float* from, const std::uint32_t* which, std::int64_t count, float* to) {
  const std::int64_t i = elementwise::element();
  if (i < count) to[i] = from[which[i]];
}

__global__ void scatter_numbers(const float* from, const std::uint32_t* which, std::int64_t count, float* to) {
  const std::int64_t i = elementwise::element();
  if (i < count) to[which[i]] = from[i];
}

}  // namespace

CutEvents::CutEvents(const Visits& made, const EventView& batch, Stream stream)
    : which_(made.cut), first_event_(made.first_event), stream_(stream) {
  const std::int64_t count = which_.size();
  if (count == 0) return;
  view_ = batch.slice(made.first_event, made.events);
  view_.count = count;
  Arrays arrays;
  for_each_pointer(
      view_, [&](auto& pointer) { arrays.from[arrays.count++] = reinterpret_cast<const std::uint32_t*>(pointer); });
  words_ = Buffer<std::uint32_t>(Memory::device, arrays.count * count, stream);
  const std::uint32_t* next = words_.data();
  for_each_pointer(view_, [&]<class T>(const T*& pointer) {
    pointer = reinterpret_cast<const T*>(next);
    next += count;
  });
  gather_words<<<elementwise::blocks(count), elementwise::threads, 0, stream>>>(arrays, which_.data(), count,
                                                                                words_.data());
  check_launch("copy events for the direct path");
}

Buffer<float> CutEvents::of(const float* numbers) const {
  if (empty() || !numbers) return {};
  Buffer<float> own(Memory::device, view_.count, stream_);
  gather_numbers<<<elementwise::blocks(view_.count), elementwise::threads, 0, stream_>>>(
      numbers + first_event_, which_.data(), view_.count, own.data());
  check_launch("copy values for the direct path");
  return own;
}

void CutEvents::put(const Buffer<float>& own, float* numbers) const {
  if (empty()) return;
  scatter_numbers<<<elementwise::blocks(view_.count), elementwise::threads, 0, stream_>>>(
      own.data(), which_.data(), view_.count, numbers + first_event_);
  check_launch("put values of the direct path in their places");
}

}  // namespace tofstream::tiled
// SPDX-License-Identifier: Apache-2.0
