// The choice of a place for data: the definitions of data_store.hpp, for files that make a store for a kind of data.
#pragma once

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/pipeline/memory_estimate.hpp"
#include "gadgets/subset/data_store.hpp"
#include "gadgets/subset/spilled_data-inl.hpp"
#include "kernels/memory/bring.hpp"

namespace tofstream {

template <class Data>
bool DataStore<Data>::device_has_room(std::size_t bytes) const {
  return settings_.backend == Backend::cuda && free_device_bytes() > settings_.device_reserve + bytes;
}

template <class Data>
bool DataStore<Data>::host_has_room(std::size_t bytes) const {
  const std::size_t free = free_host_bytes();
  return free > settings_.host_reserve && free - settings_.host_reserve > bytes;
}

template <class Data>
Data DataStore<Data>::hold(Data batch) {
  return !on_host(batch.memory()) || host_has_room(0) ? std::move(batch) : spilled_.put(batch);
}

// The driver takes longer to say what is free than to copy a small batch. A quarter of it leaves room for what the
// batches are joined to, and for others.
template <class Data>
bool DataStore<Data>::takes_room(std::size_t bytes) {
  constexpr std::size_t most = std::size_t{1} << 30;
  if (settings_.backend != Backend::cuda) return false;
  if (room_ < bytes) {
    const std::size_t free = free_device_bytes();
    room_ = free > settings_.device_reserve ? std::min((free - settings_.device_reserve) / 4, most) : 0;
  }
  if (room_ < bytes) return false;
  room_ -= bytes;
  return true;
}

template <class Data>
Data DataStore<Data>::bring(Data batch) {
  if (!on_host(batch.memory()) || !takes_room(batch.bytes())) return hold(std::move(batch));
  try {
    return bring_to_device(batch);
  } catch (const OutOfMemory&) {
    return hold(std::move(batch));
  }
}

template <class Data>
std::vector<std::shared_ptr<const Data>> DataStore<Data>::store(std::vector<Data> batches) {
  std::vector<std::shared_ptr<const Data>> stored;
  for (auto& group : StoredData<Data>::groups(std::move(batches), settings_.backend == Backend::cuda))
    stored.push_back(place(std::move(group)));
  return stored;
}

template <class Data>
std::shared_ptr<const Data> DataStore<Data>::place(std::vector<Data> group) {
  std::size_t bytes = 0;
  for (const Data& batch : group) bytes += batch.bytes();
  if (settings_.backend == Backend::cuda && group.size() == 1 && !on_host(group.front().memory()))
    return counted(Place::device, std::move(group.front()));
  if (device_has_room(bytes))
    if (auto there = joined(group, Memory::device)) return counted(Place::device, std::move(*there));
  const bool has_room = host_has_room(bytes);
  if (has_room && settings_.backend == Backend::cuda)
    if (auto there = joined(group, Memory::pinned)) return counted(Place::pinned, std::move(*there));
  Data batch = group.size() == 1 ? StoredData<Data>::on_host(std::move(group.front()))
                                 : StoredData<Data>::join(group, Memory::host, nullptr);
  if (spilled_.has(batch)) return counted(Place::disk, std::move(batch));
  return has_room ? counted(Place::host, std::move(batch)) : counted(Place::disk, spilled_.put(batch));
}

template <class Data>
std::optional<Data> DataStore<Data>::joined(const std::vector<Data>& group, Memory memory) const {
  try {
    return StoredData<Data>::join(group, memory, copy_stream());
  } catch (const OutOfMemory&) {
    return std::nullopt;  // less is free than was estimated, or too much is locked already
  }
}

template <class Data>
DataStore<Data>::Placed::Placed(Place at, Data what, std::shared_ptr<Bytes> of)
    : batch(std::move(what)), bytes(batch.bytes()), all(std::move(of)), counted(&(*all)[static_cast<std::size_t>(at)]) {
  *counted += bytes;
}

template <class Data>
std::shared_ptr<const Data> DataStore<Data>::counted(Place place, Data batch) {
  const auto placed = std::make_shared<const Placed>(place, std::move(batch), bytes_);
  return {placed, &placed->batch};
}

template <class Data>
int DataStore<Data>::places_used() const {
  return static_cast<int>(std::ranges::count_if(*bytes_, [](const auto& bytes) { return bytes > 0; }));
}

template <class Data>
std::string DataStore<Data>::in_words() const {
  constexpr const char* words[places] = {"on the GPU", "in pinned host memory", "in host memory", "on disk"};
  std::string line;
  for (std::size_t p = 0; p < places; ++p)
    if (const std::size_t bytes = (*bytes_)[p]; bytes > 0)
      line += fmt::format("{}{} {}", line.empty() ? "" : ", ", bytes_in_words(bytes), words[p]);
  return line.empty() ? "none" : line;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
