// Keeps events for their passes: see data_store.hpp.
#pragma once

#include <vector>

#include "gadgets/subset/data_store.hpp"
#include "kernels/types/events.hpp"

namespace tofstream {

template <>
struct StoredData<EventBatch> {
  static constexpr const char* words = "events";
  template <class A, class B, class Visit>
  static void for_each_array_pair(A& a, B& b, Visit&& visit) {
    tofstream::for_each_array_pair(a, b, visit);
  }
  static EventBatch on_host(EventBatch batch);
  /// For a GPU as many events as it projects at a time. What is kept no longer knows in which order events arrived.
  static std::vector<std::vector<EventBatch>> groups(std::vector<EventBatch> batches, bool is_for_gpu);
  static EventBatch join(const std::vector<EventBatch>& group, Memory memory, Stream stream);
};

extern template class DataStore<EventBatch>;
using EventStore = DataStore<EventBatch>;

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
