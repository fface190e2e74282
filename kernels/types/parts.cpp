// Parts of batches: see parts.hpp.
#include "kernels/types/parts.hpp"

#include <cstddef>

namespace tofstream {

namespace {

/// Elements [first, first + size) of an array that has any.
template <class T>
Buffer<T> stretch_of(const Buffer<T>& array, std::int64_t first, std::int64_t size, Memory memory, Stream stream) {
  if (array.empty()) return {};
  Buffer<T> copied(memory, size, stream);
  detail::copy(copied.data(), memory, array.data() + first, array.memory(),
               static_cast<std::size_t>(size) * sizeof(T), stream);
  return copied;
}

}  // namespace

EventView range_of(const EventView& events, Range range) {
  return events.slice(range.first, range.size);
}

Views range_of(const Views& views, Range range) {
  const std::int64_t pixels = views.views > 0 ? views.count / views.views : 0, begin = range.first;
  Views result = views;
  result.views = static_cast<int>(range.size);
  result.count = pixels * result.views;
  const auto move = [](auto& pointer, std::int64_t by) {
    if (pointer) pointer += by;
  };
  move(result.records, begin);
  move(result.index, begin);
  move(result.weight, begin);
  move(result.counts, begin * pixels);
  move(result.multiplicative, begin * pixels);
  move(result.additive, begin * pixels);
  return result;
}

EventBatch range_of(const EventBatch& events, Range range, Memory memory, Stream stream) {
  EventBatch result = events.without_arrays();
  for (std::int64_t& begin : result.axis_begin) begin = 0;
  result.count = range.size;
  for_each_array_pair(result, events, [&](auto& to, const auto& from) {
    if (&from != static_cast<const void*>(&events.arrival))
      to = stretch_of(from, range.first, range.size, memory, stream);
  });
  return result;
}

ViewBatch range_of(const ViewBatch& views, Range range, Memory memory, Stream stream) {
  const auto all = range_size(views), first = range.first, size = range.size;
  const std::int64_t pixels = all > 0 ? views.count / all : 0;
  ViewBatch result = views.without_arrays();
  result.records.assign(views.records.begin() + first, views.records.begin() + first + size);
  result.count = pixels * size;
  for_each_record_array_pair(
      result, views, [&](auto& to, const auto& from) { to = stretch_of(from, first, size, memory, stream); });
  for_each_pixel_array_pair(result, views, [&](auto& to, const auto& from) {
    to = stretch_of(from, first * pixels, size * pixels, memory, stream);
  });
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
