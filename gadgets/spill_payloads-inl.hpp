// How bytes and events are put on disk where an edge spills: see core/gadget/spill.hpp. Inline, since a plug-in that has
// such edges links nothing that knows both core and kernels. Included by payloads.hpp, which has ByteBlock.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/gadget/spill.hpp"
#include "kernels/types/host_batch.hpp"

namespace tofstream {

namespace detail {

// What a batch says of itself besides its arrays and what it shares with others.
struct BatchHead {
  std::int64_t count;
  TofModel tof;
  double start_s, duration_s, exposure;
  std::int64_t axis_begin[4];
  bool delayed;
};

inline BatchHead head_of(const EventBatch& batch) {
  BatchHead head{batch.count, batch.tof, batch.start_s, batch.duration_s, batch.exposure, {}, batch.delayed};
  std::ranges::copy(batch.axis_begin, head.axis_begin);
  return head;
}

inline EventBatch batch_of(const BatchHead& head) {
  EventBatch batch;
  batch.count = head.count;
  batch.tof = head.tof;
  batch.start_s = head.start_s;
  batch.duration_s = head.duration_s;
  batch.exposure = head.exposure;
  batch.delayed = head.delayed;
  std::ranges::copy(head.axis_begin, batch.axis_begin);
  return batch;
}

}  // namespace detail

inline void Spill<ByteBlock>::encode(const ByteBlock& block, SpillWriter& to) {
  to.array(std::span(block.data));
}

inline ByteBlock Spill<ByteBlock>::decode(SpillReader& from) {
  return {from.array<std::byte>()};
}

inline void Spill<EventBatch>::encode(const EventBatch& batch, SpillWriter& to) {
  if (!on_host(batch.memory())) return encode_copy(batch, to);
  to.value(detail::head_of(batch));
  to.shared(batch.scanner);
  to.shared(batch.detectors);
  to.shared(batch.quantity);
  for_each_array(batch, [&](const auto& array) { to.array(array.span()); });
}

// A batch on a GPU comes back on the host.
inline void Spill<EventBatch>::encode_copy(const EventBatch& batch, SpillWriter& to) {
  const auto here = std::make_shared<const EventBatch>(host_batch(batch));
  to.own(here);
  encode(*here, to);
}

inline EventBatch Spill<EventBatch>::decode(SpillReader& from) {
  EventBatch batch = detail::batch_of(from.value<detail::BatchHead>());
  batch.scanner = from.shared<Scanner>();
  batch.detectors = from.shared<DetectorTable>();
  batch.quantity = from.shared<Quantity>();
  for_each_array(batch, [&]<class T>(Buffer<T>& array) {
    const std::size_t size = from.size();
    if (size > 0) array = Buffer<T>(Memory::host, static_cast<std::int64_t>(size));
    from.elements(array.span());
  });
  return batch;
}

}  // namespace tofstream
