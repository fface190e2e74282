// How events are put on disk by an edge that spills; what they share with others stays in memory. Inline, since a
// plug-in with such an edge links core and kernels, which do not know each other.
#pragma once

#include <cstdint>
#include <memory>

#include "core/gadget/spill.hpp"
#include "kernels/types/host_batch.hpp"

namespace tofstream {

template <>
struct Spill<EventBatch> {
  static void encode(const EventBatch& batch, SpillWriter& to) {
    if (!on_host(batch.memory())) return encode_copy(batch, to);
    for_each_number(batch, [&](const auto& number) { to.value(number); });
    for_each_shared(batch, [&](const auto& object) { to.shared(object); });
    for_each_array(batch, [&](const auto& array) { to.array(array.span()); });
  }

  static EventBatch decode(SpillReader& from) {
    EventBatch batch;
    for_each_number(batch, [&]<class T>(T& number) { number = from.value<T>(); });
    for_each_shared(batch, [&]<class T>(std::shared_ptr<const T>& object) { object = from.shared<T>(); });
    for_each_array(batch, [&]<class T>(Buffer<T>& array) {
      const std::size_t size = from.size();
      if (size > 0) array = Buffer<T>(Memory::host, static_cast<std::int64_t>(size));
      from.elements(array.span());
    });
    return batch;
  }

 private:
  // A batch on a GPU comes back on the host.
  static void encode_copy(const EventBatch& batch, SpillWriter& to) {
    const auto here = std::make_shared<const EventBatch>(host_batch(batch));
    to.own(here);
    encode(*here, to);
  }

  template <class Batch, class Visit>
  static void for_each_number(Batch& batch, Visit&& visit) {
    visit(batch.count);
    visit(batch.tof);
    visit(batch.start_s);
    visit(batch.duration_s);
    visit(batch.exposure);
    visit(batch.delayed);
    for (auto& begin : batch.axis_begin) visit(begin);
  }

  template <class Batch, class Visit>
  static void for_each_shared(Batch& batch, Visit&& visit) {
    visit(batch.scanner);
    visit(batch.detectors);
    visit(batch.quantity);
    visit(batch.live);
    visit(batch.pose);
    visit(batch.singles);
  }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
