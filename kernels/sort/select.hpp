// Keeps the events of a batch that a predicate accepts, in their order: what every gate and window does.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/types/events.hpp"

namespace tofstream {

/// The events i of a host batch for which keep(view, i) is true; all per-event arrays alike, partition bounds dropped.
/// The batch still stands for the same scan time. Throws std::logic_error for a batch on a device.
template <class Keep>
EventBatch select(EventBatch batch, Keep&& keep) {
  if (!on_host(batch.memory())) throw std::logic_error("events are selected on the host: copy the batch first");
  const EventView events = batch.view();
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < batch.count; ++i)
    if (keep(events, i)) kept.push_back(i);
  if (static_cast<std::int64_t>(kept.size()) == batch.count) return batch;
  for_each_array(batch, [&]<class T>(Buffer<T>& array) {
    if (array.empty()) return;
    Buffer<T> smaller(array.memory(), static_cast<std::int64_t>(kept.size()));
    for (std::size_t i = 0; i < kept.size(); ++i) smaller[static_cast<std::int64_t>(i)] = array[kept[i]];
    array = std::move(smaller);
  });
  batch.count = static_cast<std::int64_t>(kept.size());
  for (auto& bound : batch.axis_begin) bound = 0;
  return batch;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
