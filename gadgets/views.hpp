// What travels on the edges of a reconstruction of views, beside payloads.hpp: views and subsets of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "core/gadget/spill.hpp"
#include "gadgets/additive.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/types/views.hpp"

namespace tofstream {

using ViewSubset = Subset<ViewBatch>;

template <>
struct PayloadName<ViewBatch> {
  static constexpr auto value = "views";
};
template <>
struct PayloadName<ViewSubset> {
  static constexpr auto value = "subset of views";
};

template <>
struct PayloadName<Additive<ViewBatch>> {
  static constexpr auto value = "additive terms of views";
};

/// How views are put on disk by an edge that spills; what they share with others stays in memory.
template <>
struct Spill<ViewBatch> {
  static void encode(const ViewBatch& batch, SpillWriter& to) {
    if (!on_host(batch.memory())) return encode_copy(batch, to);
    to.value(batch.count);
    to.value(batch.window);
    to.value(batch.reference_s);
    to.shared(batch.set);
    to.shared(batch.quantity);
    to.array(std::span(batch.records));
    for_each_array_of_views(batch, [&](const auto& array) { to.array(array.span()); });
  }

  static ViewBatch decode(SpillReader& from) {
    ViewBatch batch;
    batch.count = from.value<std::int64_t>();
    batch.window = from.value<int>();
    batch.reference_s = from.value<double>();
    batch.set = from.shared<ViewSet>();
    batch.quantity = from.shared<Quantity>();
    batch.records = from.array<ViewRecord>();
    for_each_array_of_views(batch, [&]<class T>(Buffer<T>& array) {
      const std::size_t size = from.size();
      if (size > 0) array = Buffer<T>(Memory::host, static_cast<std::int64_t>(size));
      from.elements(array.span());
    });
    return batch;
  }

 private:
  // Views on a GPU come back on the host.
  static void encode_copy(const ViewBatch& batch, SpillWriter& to) {
    auto copy = std::make_shared<ViewBatch>(batch.to(Memory::host));
    synchronize(nullptr);
    to.own(copy);
    encode(*copy, to);
  }

  template <class Batch, class Visit>
  static void for_each_array_of_views(Batch& batch, Visit&& visit) {
    for_each_record_array_pair(batch, batch, [&](auto& array, auto&) { visit(array); });
    for_each_pixel_array_pair(batch, batch, [&](auto& array, auto&) { visit(array); });
  }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
