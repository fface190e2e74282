// The fast decoding of coincidence events against what was encoded, for numbers of every length.
#include "gadgets/io/petsird/event_codec.hpp"
#include "tests/io/petsird_toy.hpp"

namespace {

using namespace tofstream::petsird;

std::vector<std::byte> encode(const std::vector<CoincidenceEvent>& events) {
  std::vector<std::byte> bytes;
  for (const CoincidenceEvent& event : events) {
    append_varint(bytes, event.bin1);
    append_varint(bytes, event.bin2);
    append_varint(bytes, event.tof);
  }
  return bytes;
}

}  // namespace

TEST_CASE("PETSIRD events: decoded as they were encoded, whatever the lengths of their numbers") {
  constexpr std::uint32_t largest = 0xffffffffU;
  for (const EventLimits limits : {EventLimits{2, 2, 1}, EventLimits{6144, 6144, 33}, EventLimits{100'000, 29'000, 300},
                                   EventLimits{3'000'000, 3'000'000, 5}, EventLimits{largest, largest, largest}}) {
    const auto events = toy::events(5000, limits, false);
    const auto bytes = encode(events);
    std::span<const std::byte> rest = bytes;
    std::vector<CoincidenceEvent> decoded(events.size() + 10);
    std::size_t count = 0;
    for (std::size_t some = 1; some > 0; count += some) {
      const std::size_t piece = std::min<std::size_t>(700, decoded.size() - count);
      some = decode_events(rest, std::span(decoded).subspan(count, piece), limits);
    }
    CAPTURE(limits.bins1);
    CHECK(rest.size() < 15);
    REQUIRE(count <= events.size());
    CHECK(count + 5 >= events.size());
    CHECK(std::equal(decoded.begin(), decoded.begin() + static_cast<std::ptrdiff_t>(count), events.begin()));
    CHECK(encode({events.begin() + static_cast<std::ptrdiff_t>(count), events.end()}).size() == rest.size());
  }
}

TEST_CASE("PETSIRD events: decoding stops before the first event that is out of range") {
  const EventLimits limits{1000, 500, 20};
  for (std::size_t bad = 0; bad < 100; bad += 7) {
    for (int which = 0; which < 3; ++which) {
      auto events = toy::events(300, limits, false);
      (which == 0   ? events[bad].bin1
       : which == 1 ? events[bad].bin2
                    : events[bad].tof) = which == 0   ? 1000
                                         : which == 1 ? 500
                                                      : 20;
      const auto bytes = encode(events);
      std::span<const std::byte> rest = bytes;
      std::vector<CoincidenceEvent> decoded(events.size());
      CHECK(decode_events(rest, decoded, limits) == bad);
      CHECK(rest.size() == encode({events.begin() + static_cast<std::ptrdiff_t>(bad), events.end()}).size());
    }
  }
}

TEST_CASE("PETSIRD events: nothing is decoded where nothing is allowed, or nothing is there") {
  const auto bytes = encode(toy::events(100, {10, 10, 10}, false));
  std::vector<CoincidenceEvent> decoded(100);
  std::span<const std::byte> rest = bytes;
  CHECK(decode_events(rest, decoded, {0, 10, 10}) == 0);
  CHECK(decode_events(rest, decoded, {10, 10, 0}) == 0);
  CHECK(rest.size() == bytes.size());
  rest = {};
  CHECK(decode_events(rest, decoded, {10, 10, 10}) == 0);
}
// SPDX-License-Identifier: Apache-2.0
