// Arrays one after the other: see join_events.hpp.
#include "kernels/types/join_events.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "kernels/types/live_pattern.hpp"

namespace tofstream {

namespace {

/// Which of the arrays that projectors read a batch has.
std::vector<bool> present_arrays(const EventBatch& batch) {
  std::vector<bool> present;
  for_each_array(batch, [&](const auto& array) { present.push_back(!array.empty()); });
  present.back() = false;  // the arrival, which is dropped
  return present;
}

/// What the batches have in common, their events and time counted together.
EventBatch description_of(std::span<const EventBatch> batches) {
  const EventBatch& first = batches.front();
  EventBatch result = first.without_arrays();
  std::ranges::fill(result.axis_begin, 0);
  result.count = 0;
  result.duration_s = 0;
  double exposed_s = 0;
  QuantitySoFar quantity;
  MeanLivePattern live;
  for (const EventBatch& batch : batches) {
    if (!can_join(first, batch)) throw std::invalid_argument("batches of different kinds of events cannot be joined");
    result.count += batch.count;
    result.start_s = std::min(result.start_s, batch.start_s);
    result.duration_s += batch.duration_s;
    exposed_s += batch.duration_s * batch.exposure;
    quantity.add(batch.quantity);
    live.add(batch.live, batch.duration_s * batch.exposure);
  }
  result.quantity = quantity.get();
  if (result.duration_s > 0) result.live = live.get();
  result.exposure = result.duration_s > 0 ? exposed_s / result.duration_s : first.exposure;
  return result;
}

}  // namespace

bool can_join(const EventBatch& a, const EventBatch& b) {
  return a.scanner == b.scanner && a.detectors == b.detectors && a.tof == b.tof && a.delayed == b.delayed &&
         present_arrays(a) == present_arrays(b);
}

EventBatch join_events(std::span<const EventBatch> batches, Memory memory, Stream stream) {
  if (batches.empty()) throw std::invalid_argument("no batches to join");
  EventBatch result = description_of(batches);
  for_each_array_pair(result, batches.front(), [&]<class T>(Buffer<T>& to, const Buffer<T>& from) {
    if (!from.empty()) to = Buffer<T>(memory, result.count, stream);
  });
  result.arrival = {};
  std::int64_t at = 0;
  for (const EventBatch& batch : batches) {
    for_each_array_pair(result, batch, [&](auto& to, const auto& from) {
      if (!to.empty()) detail::copy(to.data() + at, memory, from.data(), from.memory(), from.bytes(), stream);
    });
    at += batch.count;
  }
  synchronize(stream);
  return result;
}

std::vector<std::vector<EventBatch>> groups_to_join(std::vector<EventBatch> batches, std::int64_t most_events) {
  struct Group {
    std::vector<EventBatch> batches;
    std::int64_t events = 0;
  };
  std::vector<Group> groups;
  for (EventBatch& batch : batches) {
    const bool alone = &batch == &batches.back() && groups.empty();
    if (batch.count == 0 && !alone) continue;
    // Searches from the last group back: the first of the batch's kind is the one being filled.
    const auto kind = std::find_if(groups.rbegin(), groups.rend(),
                                   [&](const Group& group) { return can_join(group.batches.front(), batch); });
    Group& group = kind != groups.rend() && kind->events + batch.count <= most_events ? *kind : groups.emplace_back();
    group.events += batch.count;
    group.batches.push_back(std::move(batch));
  }
  std::vector<std::vector<EventBatch>> result;
  for (Group& group : groups) result.push_back(std::move(group.batches));
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
