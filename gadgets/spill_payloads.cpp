// How bytes, events and frames are put on disk where an edge spills: see core/gadget/spill.hpp.
#include <type_traits>
#include <utility>

#include "core/gadget/spill.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/wire/raw_frame.hpp"
#include "kernels/types/host_batch.hpp"

namespace tofstream {

namespace {

// What a batch says of itself besides its arrays and what it shares with others.
struct BatchHead {
  std::int64_t count;
  TofModel tof;
  double start_s, duration_s, exposure;
  std::int64_t axis_begin[4];
  bool delayed;
};

BatchHead head_of(const EventBatch& batch) {
  BatchHead head{batch.count, batch.tof, batch.start_s, batch.duration_s, batch.exposure, {}, batch.delayed};
  std::ranges::copy(batch.axis_begin, head.axis_begin);
  return head;
}

EventBatch batch_of(const BatchHead& head) {
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

}  // namespace

void Spill<ByteBlock>::encode(const ByteBlock& block, SpillWriter& to) {
  to.array(std::span(block.data));
}

ByteBlock Spill<ByteBlock>::decode(SpillReader& from) {
  return {from.array<std::byte>()};
}

void Spill<RawFrame>::encode(const RawFrame& frame, SpillWriter& to) {
  to.value(frame.ingress_ns);
  to.value(frame.entered);
  to.value(frame.events);
  to.array(frame.data);
}

RawFrame Spill<RawFrame>::decode(SpillReader& from) {
  const auto ingress_ns = from.value<std::uint64_t>();
  const auto entered = from.value<std::chrono::steady_clock::time_point>();
  const auto events = from.value<std::uint64_t>();
  RawFrame frame = RawFrame::of(from.array<std::byte>(), ingress_ns);
  frame.entered = entered;
  frame.events = events;
  return frame;
}

void Spill<EventBatch>::encode(const EventBatch& batch, SpillWriter& to) {
  if (!on_host(batch.memory())) return encode_copy(batch, to);
  to.value(head_of(batch));
  to.shared(batch.scanner);
  to.shared(batch.detectors);
  to.shared(batch.quantity);
  for_each_array(batch, [&](const auto& array) { to.array(array.span()); });
}

// A batch on a GPU comes back on the host.
void Spill<EventBatch>::encode_copy(const EventBatch& batch, SpillWriter& to) {
  const auto here = std::make_shared<const EventBatch>(host_batch(batch));
  to.own(here);
  encode(*here, to);
}

EventBatch Spill<EventBatch>::decode(SpillReader& from) {
  EventBatch batch = batch_of(from.value<BatchHead>());
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
