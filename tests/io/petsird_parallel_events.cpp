// Events decoded on all cores against what was encoded, with numbers of every length across the borders of pieces.
#include <algorithm>
#include <stdexcept>

#include "gadgets/io/petsird/parallel_events.hpp"
#include "tests/io/petsird_toy.hpp"

namespace {

using namespace tofstream::petsird;

std::vector<std::byte> encode(std::span<const CoincidenceEvent> events) {
  std::vector<std::byte> bytes;
  for (const CoincidenceEvent& event : events) {
    append_varint(bytes, event.bin1);
    append_varint(bytes, event.bin2);
    append_varint(bytes, event.tof);
  }
  return bytes;
}

std::size_t begin(ParallelEvents& cores, std::span<const std::byte>& bytes, std::span<CoincidenceEvent> decoded,
                  const EventLimits& limits) {
  return cores.begin(bytes, decoded.size(), limits, [decoded](std::size_t first, auto events) {
    std::ranges::copy(events, decoded.subspan(first).begin());
  });
}

// Decodes one stretch.
std::size_t decode(std::span<const std::byte>& bytes, std::span<CoincidenceEvent> decoded, const EventLimits& limits) {
  ParallelEvents cores;
  const std::size_t count = begin(cores, bytes, decoded, limits);
  CHECK_FALSE(cores.wait().has_value());
  return count;
}

constexpr EventLimits all_limits[] = {{2, 2, 1}, {6144, 6144, 33}, {3'000'000, 3'000'000, 5}, {~0u, ~0u, ~0u}};

}  // namespace

TEST_CASE("PETSIRD events: all cores decode what was encoded, up to a hair before the end") {
  for (const EventLimits& limits : all_limits) {
    CAPTURE(limits.bins1);
    const auto events = toy::events(60'000, limits, false);
    const auto bytes = encode(events);
    std::span<const std::byte> rest = bytes;
    std::vector<CoincidenceEvent> decoded(events.size() + 10);
    const std::size_t count = decode(rest, decoded, limits);
    CHECK(rest.size() < 100);
    REQUIRE(count <= events.size());
    CHECK(count + 30 >= events.size());
    CHECK(std::equal(decoded.begin(), decoded.begin() + static_cast<std::ptrdiff_t>(count), events.begin()));
    CHECK(encode(std::span(events).subspan(count)).size() == rest.size());
  }
}

TEST_CASE("PETSIRD events: numbers are counted by their last bytes") {
  const auto bytes = encode(toy::events(9'000, all_limits[2], false));
  for (const std::size_t size : {0u, 1u, 15u, 16u, 17u, 4080u, 4081u, 50'000u}) {
    const auto some = std::span(bytes).subspan(3, size);
    CHECK(count_varints(some) == static_cast<std::size_t>(std::ranges::count_if(
                                     some, [](std::byte b) { return std::to_integer<int>(b) < 0x80; })));
  }
}

TEST_CASE("PETSIRD events: all cores decode no more than there is room for") {
  for (const EventLimits& limits : all_limits) {
    CAPTURE(limits.bins1);
    const auto events = toy::events(30'000, limits, false);
    const auto bytes = encode(events);
    for (const std::size_t room : {1u, 100u, 5461u, 5462u, 20'011u}) {
      CAPTURE(room);
      std::span<const std::byte> rest = bytes;
      std::vector<CoincidenceEvent> decoded(room);
      REQUIRE(decode(rest, decoded, limits) == room);
      CHECK(std::equal(decoded.begin(), decoded.end(), events.begin()));
      CHECK(encode(std::span(events).subspan(room)).size() == rest.size());
    }
  }
}

TEST_CASE("PETSIRD events: stretches are decoded side by side, and fewer bytes than it is worth it for by nobody") {
  const EventLimits& limits = all_limits[1];
  const auto events = toy::events(200'000, limits, false);
  const auto bytes = encode(events);
  std::span<const std::byte> rest = bytes;
  std::vector<CoincidenceEvent> decoded(events.size());
  ParallelEvents cores;
  std::size_t begun = 0;
  for (std::size_t more = 1; more > 0;) {
    more = begin(cores, rest, std::span(decoded).subspan(begun, std::min<std::size_t>(9'973, events.size() - begun)),
                 limits);
    begun += more;
  }
  CHECK(begun + 30 >= events.size());
  CHECK(rest.size() < 100);
  CHECK_FALSE(cores.wait().has_value());
  CHECK(std::equal(decoded.begin(), decoded.begin() + static_cast<std::ptrdiff_t>(begun), events.begin()));
  std::span<const std::byte> few = std::span(bytes).first(80);
  CHECK(begin(cores, few, decoded, limits) == 0);
  CHECK(few.size() == 80);
  std::span<const std::byte> none;
  CHECK(begin(cores, none, decoded, limits) == 0);
}

TEST_CASE("PETSIRD events: numbers in more bytes than they need are what they are") {
  const EventLimits limits{100'000, 100'000, 300};
  const auto events = toy::events(20'000, limits, false);
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < events.size(); ++i) {
    append_varint(bytes, events[i].bin1);
    if (i % 1'000 == 7) {  // the fast paths end at five bytes a number
      for (unsigned shift = 0; shift < 63; shift += 7)
        bytes.push_back(static_cast<std::byte>((shift < 32 ? events[i].bin2 >> shift & 0x7f : 0) | 0x80));
      bytes.push_back(std::byte{0});
    } else {
      append_varint(bytes, events[i].bin2);
    }
    append_varint(bytes, events[i].tof);
  }
  std::span<const std::byte> rest = bytes;
  std::vector<CoincidenceEvent> decoded(events.size());
  const std::size_t count = decode(rest, decoded, limits);
  CHECK(count + 30 >= events.size());
  CHECK(std::equal(decoded.begin(), decoded.begin() + static_cast<std::ptrdiff_t>(count), events.begin()));
}

TEST_CASE("PETSIRD events: the first event is named that is out of range, or has too long a number") {
  const EventLimits limits{100'000, 100'000, 300};
  const auto good = toy::events(30'000, limits, false);
  for (const std::size_t bad : {0u, 1u, 2730u, 9999u, 29'000u}) {
    CAPTURE(bad);
    auto events = good;
    events[bad].bin2 = 100'000;
    for (const std::size_t other : {bad + 1, bad + 700})  // a later one does not matter
      events[other].tof = 300;
    const auto bytes = encode(events);
    std::vector<CoincidenceEvent> decoded(events.size());
    ParallelEvents cores;
    std::span<const std::byte> well = std::span(bytes).first(encode(std::span(events).first(bad)).size()), rest = bytes;
    const std::size_t stretches = begin(cores, well, decoded, limits) > 0 ? 1 : 0;
    CHECK(begin(cores, rest, decoded, limits) > bad);
    const auto failure = cores.wait();
    REQUIRE(failure.has_value());
    CHECK(failure->stretch == stretches);
    CHECK(failure->event == bad);
    CHECK(failure->bytes.size() == encode(std::span(events).subspan(bad)).size());
    CHECK(std::equal(decoded.begin(), decoded.begin() + static_cast<std::ptrdiff_t>(bad), events.begin()));
    CHECK_FALSE(cores.wait().has_value());  // reported once

    auto overlong = encode(std::span(good).first(bad));
    const std::size_t where = overlong.size();
    overlong.insert(overlong.end(), 90'000, std::byte{0x80});  // no number ends in whole pieces
    const auto after = encode(std::span(good).subspan(bad));
    overlong.insert(overlong.end(), after.begin(), after.end());
    rest = overlong;
    CHECK(begin(cores, rest, decoded, limits) > bad);
    const auto too_long = cores.wait();
    REQUIRE(too_long.has_value());
    CHECK(too_long->event == bad);
    CHECK(too_long->bytes.size() == overlong.size() - where);
  }
}

TEST_CASE("PETSIRD events: who gives up waits for the cores, and what the receiver throws comes out") {
  const EventLimits& limits = all_limits[1];
  const auto bytes = encode(toy::events(60'000, limits, false));
  std::vector<CoincidenceEvent> decoded(60'000);
  for (int i = 0; i < 20; ++i) {
    ParallelEvents cores;
    std::span<const std::byte> rest = bytes;
    CHECK(begin(cores, rest, decoded, limits) > 0);
  }
  ParallelEvents cores;
  std::span<const std::byte> rest = bytes;
  cores.begin(rest, 60'000, limits, [](std::size_t first, auto) {
    if (first > 20'000) throw std::runtime_error("no room");
  });
  CHECK_THROWS_WITH(cores.wait(), "no room");
  CHECK_FALSE(cores.wait().has_value());
}
// SPDX-License-Identifier: Apache-2.0
