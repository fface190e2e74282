// Views one after the other: see join_views.hpp.
#include "kernels/types/join_views.hpp"

#include <stdexcept>

namespace tofstream {

namespace {

/// What the batches have in common, with the records of all.
ViewBatch view_description_of(std::span<const ViewBatch* const> batches) {
  ViewBatch result = batches.front()->without_arrays();
  result.count = 0;
  result.records.clear();
  QuantitySoFar quantity;
  for (const ViewBatch* batch : batches) {
    if (!can_join(*batches.front(), *batch))
      throw std::invalid_argument("batches of different kinds of views cannot be joined");
    result.count += batch->count;
    result.records.insert(result.records.end(), batch->records.begin(), batch->records.end());
    quantity.add(batch->quantity);
  }
  result.quantity = quantity.get();
  return result;
}

}  // namespace

bool can_join(const ViewBatch& a, const ViewBatch& b) {
  bool is_alike = a.set == b.set && a.window == b.window && a.reference_s == b.reference_s;
  const auto compare = [&](const auto& x, const auto& y) { is_alike = is_alike && x.empty() == y.empty(); };
  for_each_record_array_pair(a, b, compare);
  for_each_pixel_array_pair(a, b, compare);
  return is_alike;
}

ViewBatch join_views(std::span<const ViewBatch* const> batches, Memory memory, Stream stream) {
  if (batches.empty()) throw std::invalid_argument("no batches to join");
  ViewBatch result = view_description_of(batches);
  const auto room_for = [&](std::int64_t size) {
    return [&, size]<class T>(Buffer<T>& to, const Buffer<T>& from) {
      if (!from.empty()) to = Buffer<T>(memory, size, stream);
    };
  };
  for_each_record_array_pair(result, *batches.front(), room_for(static_cast<std::int64_t>(result.records.size())));
  for_each_pixel_array_pair(result, *batches.front(), room_for(result.count));
  const auto append_at = [&](std::int64_t at) {
    return [&, at](auto& to, const auto& from) {
      if (!from.empty()) detail::copy(to.data() + at, memory, from.data(), from.memory(), from.bytes(), stream);
    };
  };
  std::int64_t views = 0, pixels = 0;
  for (const ViewBatch* batch : batches) {
    for_each_record_array_pair(result, *batch, append_at(views));
    for_each_pixel_array_pair(result, *batch, append_at(pixels));
    views += static_cast<std::int64_t>(batch->records.size());
    pixels += batch->count;
  }
  synchronize(stream);
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
