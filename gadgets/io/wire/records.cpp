// Records to and from batches: see records.hpp.
#include "gadgets/io/wire/records.hpp"

#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "gadgets/io/wire/record_kinds.hpp"

namespace tofstream::wire {
namespace {

constexpr double ns_per_s = 1e9;

std::uint64_t nanoseconds(double seconds) {
  return static_cast<std::uint64_t>(std::llround(seconds * ns_per_s));
}

const RecordKind& kind_of(const EventBatch& batch) {
  const RecordKind* kind = find_record_kind(batch);
  if (!kind) throw std::invalid_argument("events without detectors cannot be sent: no kind of records holds them");
  return *kind;
}

BadFrame bad(const FrameHeader& header, const std::string& wrong) {
  return {FrameFault::contents, fmt::format("frame {}: {}: fix the sender", header.sequence, wrong)};
}

}  // namespace

FrameHeader record_header(const EventBatch& batch) {
  const RecordKind& kind = kind_of(batch);
  if (!batch.multiplicative.empty() || !batch.additive.empty())
    throw std::invalid_argument("corrections of events are not sent: send events before they are corrected");
  if (!batch.counts.empty()) throw std::invalid_argument("bins of a histogram are not sent: records are single events");
  if (!batch.tof_width_mm.empty())
    throw std::invalid_argument("events in ToF bins of unequal width cannot be sent as records");
  return {.kind = FrameKind::data,
          .schema = kind.schema,
          .flags = batch.delayed ? flag_delayed : std::uint16_t{0},
          .events = batch.event_count(),
          .start_ns = nanoseconds(batch.start_s),
          .duration_ns = nanoseconds(batch.duration_s)};
}

void write_records(const EventBatch& batch, std::span<std::byte> payload) {
  const RecordKind& kind = kind_of(batch);
  if (payload.size() != kind.bytes * batch.event_count()) throw std::invalid_argument("a payload of another size");
  kind.encode(batch, payload);
}

std::variant<EventBatch, BadFrame> read_records(const Frame& frame, const std::shared_ptr<const Scanner>& scanner) {
  const FrameHeader& header = frame.header;
  const RecordKind* kind = table_of<RecordKind>().find(header.schema);
  if (!kind) return bad(header, "data that are no records");
  std::string wrong;
  EventBatch batch = kind->decode(frame, scanner, wrong);
  batch.delayed = header.is_delayed();
  batch.start_s = static_cast<double>(header.start_ns) / ns_per_s;
  batch.duration_s = static_cast<double>(header.duration_ns) / ns_per_s;
  if (!wrong.empty()) return bad(header, wrong);
  return batch;
}

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
