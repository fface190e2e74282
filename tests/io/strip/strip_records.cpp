// Events of strips as records in a frame: they survive a round trip, and events that the strips cannot have measured
// are refused.
#include "gadgets/strip/io/strip_records.hpp"

#include <cstring>

#include "gadgets/io/petsird/to_scanner.hpp"
#include "gadgets/io/wire/records.hpp"
#include "gadgets/strip/io/from_strips.hpp"
#include "kernels/strip/strip_events.hpp"
#include "kernels/strip/strip_scanner.hpp"
#include "tests/io/petsird_toy.hpp"

using namespace tofstream;
using namespace tofstream::wire;

namespace {

std::vector<std::byte> strip_frame_of(const EventBatch& events) {
  FrameHeader header = record_header(events);
  header.sequence = 1;
  std::vector<std::byte> frame(header_bytes + header.events * record_bytes(header.schema));
  write_records(events, std::span(frame).subspan(header_bytes));
  seal_frame(header, frame);
  return frame;
}

}  // namespace

TEST_CASE("events of strips go as z_u, z_d and dl, and come back as they were, with the strips of the header") {
  const auto strips = petsird::to_scanner(petsird::strip_header(*make_strip_scanner("s", {130.5F, 301})).scanner);
  CHECK(strip_geometry(*strips) == StripGeometry{130.5F, 301});
  EventBatch events = make_strip_batch(strips, 2);
  events.duration_s = 0.25;
  set_response(events, 0, {12.25F, -140.125F, 33});
  set_response(events, 1, {-3, 160, -0.1F});
  const auto bytes = strip_frame_of(events);
  CHECK(bytes.size() == header_bytes + 2 * 12);
  const float payload[] = {12.25F, -3, -140.125F, 160, 33, -0.1F};
  CHECK(std::memcmp(bytes.data() + header_bytes, payload, sizeof payload) == 0);
  const auto decoded = decode_frame(bytes);
  CHECK(std::get<Frame>(decoded).header.schema == strip_coincidences);
  const auto result = read_records(std::get<Frame>(decoded), strips);
  REQUIRE(std::holds_alternative<EventBatch>(result));
  const auto& back = std::get<EventBatch>(result);
  CHECK(back.count == 2);
  CHECK(back.duration_s == 0.25);
  for (std::size_t end = 0; end < 6; ++end) CHECK(std::ranges::equal(back.ends[end].span(), events.ends[end].span()));
  CHECK(std::ranges::equal(back.tof_mm.span(), events.tof_mm.span()));
  CHECK(back.ends[1][0] == 130.5F);
}

TEST_CASE("events that no strips measured, and strips' events of another scanner, are bad frames") {
  const auto strips = make_strip_scanner("s", {130, 300});
  const auto refused = [&](const StripResponse<float>& response, const std::shared_ptr<const Scanner>& reader) {
    EventBatch events = make_strip_batch(strips, 1);
    set_response(events, 0, response);
    const auto bytes = strip_frame_of(events);
    const auto result = read_records(std::get<Frame>(decode_frame(bytes)), reader);
    return std::holds_alternative<BadFrame>(result) ? std::get<BadFrame>(result).what : "";
  };
  CHECK(refused({0, 0, 0}, strips).empty());
  CHECK(refused({0, std::nanf(""), 0}, strips).find("which the strips cannot have measured") != std::string::npos);
  CHECK(refused({0, 300, 0}, strips).find("event 0 of (0, 300, 0) mm") != std::string::npos);
  CHECK(refused({0, 0, 0}, petsird::to_scanner(petsird::toy::scanner())).find("is no pair of strips") !=
        std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
