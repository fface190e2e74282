// Keeps views for their passes: see data_store.hpp.
#pragma once

#include <vector>

#include "gadgets/subset/data_store.hpp"
#include "gadgets/views.hpp"

namespace tofstream {

template <>
struct StoredData<ViewBatch> {
  static constexpr const char* words = "views";
  template <class A, class B, class Visit>
  static void for_each_array_pair(A& a, B& b, Visit&& visit) {
    for_each_record_array_pair(a, b, visit);
    for_each_pixel_array_pair(a, b, visit);
  }
  static ViewBatch on_host(ViewBatch batch);
  /// Each group has views of one kind; for a GPU, which may have to take one group after the other, of 1 GiB at most.
  static std::vector<std::vector<ViewBatch>> groups(std::vector<ViewBatch> batches, bool is_for_gpu);
  static ViewBatch join(const std::vector<ViewBatch>& group, Memory memory, Stream stream);
};

extern template class DataStore<ViewBatch>;
using ViewStore = DataStore<ViewBatch>;

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
