// Events as records in a frame: they survive a round trip, and events that the scanner cannot have seen are refused.
#include <cstring>
#include <limits>

#include "gadgets/io/petsird/to_scanner.hpp"
#include "gadgets/io/wire/record_kinds.hpp"
#include "gadgets/io/wire/records.hpp"
#include "gadgets/strip/io/strip_records.hpp"
#include "tests/io/petsird_toy.hpp"

using namespace tofstream;
using namespace tofstream::wire;

namespace {

/// 12 detectors of type 0, then 4 of type 1 (petsird_toy.hpp).
std::shared_ptr<const Scanner> scanner() {
  static const auto made = petsird::to_scanner(petsird::toy::scanner());
  return made;
}

EventBatch batch(std::vector<std::uint32_t> first, std::vector<std::uint32_t> second, std::vector<float> tof = {}) {
  EventBatch events;
  events.scanner = scanner();
  events.detectors = scanner()->detectors;
  events.count = static_cast<std::int64_t>(first.size());
  events.start_s = 1.25;
  events.duration_s = 0.5;
  events.detector1 = Buffer<std::uint32_t>::from(first);
  events.detector2 = Buffer<std::uint32_t>::from(second);
  if (!tof.empty()) events.tof_mm = Buffer<float>::from(tof);
  return events;
}

std::vector<std::byte> frame_of(const EventBatch& events) {
  FrameHeader header = record_header(events);
  header.sequence = 1;
  std::vector<std::byte> frame(header_bytes + header.events * record_bytes(header.schema));
  write_records(events, std::span(frame).subspan(header_bytes));
  seal_frame(header, frame);
  return frame;
}

std::variant<EventBatch, BadFrame> sent(const EventBatch& events) {
  const auto bytes = frame_of(events);
  return read_records(std::get<Frame>(decode_frame(bytes)), scanner());
}

void check_refused(const EventBatch& events, const char* said) {
  const auto result = sent(events);
  REQUIRE(std::holds_alternative<BadFrame>(result));
  CHECK(std::get<BadFrame>(result).fault == FrameFault::contents);
  CHECK_MESSAGE(std::get<BadFrame>(result).what.find(said) != std::string::npos, std::get<BadFrame>(result).what);
}

}  // namespace

TEST_CASE("records come back as they went, with the scanner's ToF model") {
  EventBatch events = batch({11, 3, 7}, {0, 2, 7}, {-20, 0.5F, 40});
  events.delayed = true;
  CHECK(frame_of(events).size() == header_bytes + 3 * 12);
  const auto result = sent(events);
  REQUIRE(std::holds_alternative<EventBatch>(result));
  const auto& back = std::get<EventBatch>(result);
  CHECK(back.count == 3);
  CHECK(back.delayed);
  CHECK(back.start_s == 1.25);
  CHECK(back.duration_s == 0.5);
  CHECK(std::ranges::equal(back.detector1.span(), events.detector1.span()));
  CHECK(std::ranges::equal(back.detector2.span(), events.detector2.span()));
  CHECK(std::ranges::equal(back.tof_mm.span(), events.tof_mm.span()));
  CHECK(back.tof == scanner()->tof[0]);
  CHECK(back.tof.bin_width_mm == 20);
  CHECK(back.detectors == scanner()->detectors);
}

TEST_CASE("records without ToF take 8 bytes an event") {
  const EventBatch events = batch({15, 12}, {0, 11});
  CHECK(frame_of(events).size() == header_bytes + 2 * 8);
  const auto result = sent(events);
  REQUIRE(std::holds_alternative<EventBatch>(result));
  CHECK(std::get<EventBatch>(result).tof_mm.empty());
  CHECK(std::get<EventBatch>(result).tof == TofModel{});
}

TEST_CASE("records that the scanner cannot have seen are bad frames") {
  check_refused(batch({3, 16}, {0, 0}), "detector 16, but the scanner has 16 (from 0)");
  check_refused(batch({3}, {~0U}), "detector 4294967295");
  check_refused(batch({3, 12}, {0, 0}), "several pairs of module types");
  check_refused(batch({12}, {3}, {1}), "ToF, but the scanner has none");
  check_refused(batch({3, 3}, {0, 0}, {1, std::numeric_limits<float>::infinity()}), "not a finite number");
  check_refused(batch({3, 3}, {0, 0}, {std::nanf(""), 1}), "not a finite number");
}

TEST_CASE("what records cannot hold is not sent") {
  EventBatch corrected = batch({1}, {0});
  corrected.additive = Buffer<float>::zeros(Memory::host, 1);
  CHECK_THROWS_WITH(record_header(corrected), doctest::Contains("before they are corrected"));
  EventBatch uneven = batch({1}, {0}, {0});
  uneven.tof_width_mm = Buffer<float>::zeros(Memory::host, 1);
  CHECK_THROWS_WITH(record_header(uneven), doctest::Contains("unequal width"));
  EventBatch free;
  CHECK_THROWS_WITH(record_header(free), doctest::Contains("without detectors"));
  std::vector<std::byte> small(7);
  CHECK_THROWS_AS(write_records(batch({1}, {0}), small), std::invalid_argument);
}

TEST_CASE("a kind of records has a number of its own, and says how its events become bytes") {
  const KindTable<RecordKind>& kinds = table_of<RecordKind>();
  const RecordKind& strips = *kinds.find(strip_coincidences);
  CHECK(strips.bytes == 12);
  CHECK(kinds.problem_of(strips) == "two kinds of records have the schema 4: number one anew");
  RecordKind other = strips;
  other.schema = Schema::petsird;
  CHECK(kinds.problem_of(other) == "records cannot have schema 1, which frames without records have");
  other.schema = first_plugin_schema;
  CHECK(kinds.problem_of(other) == "");
  other.decode = nullptr;
  CHECK(kinds.problem_of(other) == "the records of schema 128 lack their bytes, holds, encode or decode");
  CHECK(kinds.find(first_plugin_schema) == nullptr);
  CHECK(record_bytes(first_plugin_schema) == 0);
}
// SPDX-License-Identifier: Apache-2.0
