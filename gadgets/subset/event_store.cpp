// The choice of a place for events: see event_store.hpp.
#include "gadgets/subset/event_store.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/pipeline/memory_estimate.hpp"
#include "kernels/project/tiled/visit_plan.hpp"
#include "kernels/types/host_batch.hpp"
#include "kernels/types/join_events.hpp"

namespace tofstream {

namespace {

constexpr const char* words[EventStore::places] = {"on the GPU", "in pinned host memory", "in host memory", "on disk"};

std::size_t bytes_of(const std::vector<EventBatch>& batches) {
  std::size_t sum = 0;
  for (const EventBatch& batch : batches) sum += batch.bytes();
  return sum;
}

}  // namespace

bool EventStore::device_has_room(std::size_t bytes) const {
  return settings_.backend == Backend::cuda && free_device_bytes() > settings_.device_reserve + bytes;
}

bool EventStore::host_has_room(std::size_t bytes) const {
  const std::size_t free = free_host_bytes();
  return free > settings_.host_reserve && free - settings_.host_reserve > bytes;
}

EventBatch EventStore::hold(EventBatch batch) {
  return !on_host(batch.memory()) || host_has_room(0) ? std::move(batch) : spilled_.put(batch);
}

std::vector<std::shared_ptr<const EventBatch>> EventStore::store(std::vector<EventBatch> batches) {
  for (EventBatch& batch : batches) batch.arrival = {};
  std::vector<std::shared_ptr<const EventBatch>> stored;
  const std::int64_t at_a_time = settings_.backend == Backend::cuda ? tiled::most_at_a_time : 0;
  for (auto& group : groups_to_join(std::move(batches), at_a_time)) stored.push_back(place(std::move(group)));
  return stored;
}

std::shared_ptr<const EventBatch> EventStore::place(std::vector<EventBatch> group) {
  const std::size_t bytes = bytes_of(group);
  if (settings_.backend == Backend::cuda && group.size() == 1 && !on_host(group.front().memory()))
    return counted(Place::device, std::move(group.front()));
  if (device_has_room(bytes))
    if (auto there = joined(group, Memory::device)) return counted(Place::device, std::move(*there));
  const bool has_room = host_has_room(bytes);
  if (has_room && settings_.backend == Backend::cuda)
    if (auto there = joined(group, Memory::pinned)) return counted(Place::pinned, std::move(*there));
  EventBatch batch = group.size() == 1 ? host_batch(std::move(group.front())) : join_events(group, Memory::host);
  if (spilled_.has(batch)) return counted(Place::disk, std::move(batch));
  return has_room ? counted(Place::host, std::move(batch)) : counted(Place::disk, spilled_.put(batch));
}

std::optional<EventBatch> EventStore::joined(const std::vector<EventBatch>& group, Memory memory) const {
  try {
    return join_events(group, memory, copy_stream());
  } catch (const OutOfMemory&) {
    return std::nullopt;  // less is free than was estimated, or too much is locked already
  }
}

EventStore::Placed::Placed(Place at, EventBatch what, std::shared_ptr<Bytes> of)
    : batch(std::move(what)), bytes(batch.bytes()), all(std::move(of)), counted(&(*all)[static_cast<std::size_t>(at)]) {
  *counted += bytes;
}

std::shared_ptr<const EventBatch> EventStore::counted(Place place, EventBatch batch) {
  const auto placed = std::make_shared<const Placed>(place, std::move(batch), bytes_);
  return {placed, &placed->batch};
}

int EventStore::places_used() const {
  return static_cast<int>(std::ranges::count_if(*bytes_, [](const auto& bytes) { return bytes > 0; }));
}

std::string EventStore::in_words() const {
  std::string line;
  for (std::size_t p = 0; p < places; ++p)
    if (const std::size_t bytes = (*bytes_)[p]; bytes > 0)
      line += fmt::format("{}{} {}", line.empty() ? "" : ", ", bytes_in_words(bytes), words[p]);
  return line.empty() ? "none" : line;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
