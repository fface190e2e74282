// What a store does with events: see event_store.hpp.
#include "gadgets/subset/event_store.hpp"

#include <utility>

#include "gadgets/subset/data_store-inl.hpp"
#include "kernels/project/tiled/visit_plan.hpp"
#include "kernels/types/host_batch.hpp"
#include "kernels/types/join_events.hpp"

namespace tofstream {

EventBatch StoredData<EventBatch>::on_host(EventBatch batch) {
  return host_batch(std::move(batch));
}

std::vector<std::vector<EventBatch>> StoredData<EventBatch>::groups(std::vector<EventBatch> batches, bool is_for_gpu) {
  for (EventBatch& batch : batches) batch.arrival = {};
  return groups_to_join(std::move(batches), is_for_gpu ? tiled::most_at_a_time : 0);
}

EventBatch StoredData<EventBatch>::join(const std::vector<EventBatch>& group, Memory memory, Stream stream) {
  return join_events(group, memory, stream);
}

template class DataStore<EventBatch>;

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
