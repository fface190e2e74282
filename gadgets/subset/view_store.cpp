// What a store does with views: see view_store.hpp.
#include "gadgets/subset/view_store.hpp"

#include <utility>

#include "gadgets/subset/data_store-inl.hpp"
#include "kernels/types/join_views.hpp"

namespace tofstream {

ViewBatch StoredData<ViewBatch>::on_host(ViewBatch batch) {
  if (tofstream::on_host(batch.memory())) return batch;
  ViewBatch here = batch.to(Memory::host);
  synchronize(nullptr);
  return here;
}

std::vector<std::vector<ViewBatch>> StoredData<ViewBatch>::groups(std::vector<ViewBatch> batches, bool is_for_gpu) {
  constexpr std::size_t most_bytes = std::size_t{1} << 30;
  std::vector<std::vector<ViewBatch>> groups;
  std::size_t bytes = 0;
  for (ViewBatch& batch : batches) {
    const std::size_t more = batch.bytes();
    if (groups.empty() || !can_join(groups.back().front(), batch) || (is_for_gpu && bytes + more > most_bytes)) {
      groups.emplace_back();
      bytes = 0;
    }
    groups.back().push_back(std::move(batch));
    bytes += more;
  }
  return groups;
}

ViewBatch StoredData<ViewBatch>::join(const std::vector<ViewBatch>& group, Memory memory, Stream stream) {
  std::vector<const ViewBatch*> pointers;
  for (const ViewBatch& batch : group) pointers.push_back(&batch);
  return join_views(pointers, memory, stream);
}

template class DataStore<ViewBatch>;

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
