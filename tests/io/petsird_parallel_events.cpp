// Events decoded on all cores against what was encoded, with numbers of every length across the borders of pieces.
#include <algorithm>
#include <numeric>

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

std::size_t decode(std::span<const std::byte>& bytes, std::span<CoincidenceEvent> decoded, const EventLimits& limits) {
  return decode_events_in_parallel(bytes, decoded.size(), limits, [&](std::size_t first, auto events) {
    std::ranges::copy(events, decoded.subspan(first).begin());
  });
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
    CHECK(rest.size() < 15);
    REQUIRE(count <= events.size());
    CHECK(count + 5 >= events.size());
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

TEST_CASE("PETSIRD events: all cores stop before the first event that is out of range, or has too long a number") {
  const EventLimits limits{100'000, 100'000, 300};
  const auto good = toy::events(30'000, limits, false);
  for (const std::size_t bad : {0u, 1u, 2730u, 9999u, 29'000u}) {
    CAPTURE(bad);
    auto events = good;
    events[bad].bin2 = 100'000;
    for (const std::size_t other : {bad + 1, bad + 700})  // a later one does not matter
      events[other].tof = 300;
    const auto bytes = encode(events);
    std::span<const std::byte> rest = bytes;
    std::vector<CoincidenceEvent> decoded(events.size());
    REQUIRE(decode(rest, decoded, limits) == bad);
    CHECK(std::equal(decoded.begin(), decoded.begin() + static_cast<std::ptrdiff_t>(bad), events.begin()));
    CHECK(rest.size() == encode(std::span(events).subspan(bad)).size());

    auto overlong = encode(std::span(good).first(bad));
    const std::size_t begin = overlong.size();
    overlong.insert(overlong.end(), 40'000, std::byte{0x80});  // no number ends in whole pieces
    const auto after = encode(std::span(good).subspan(bad));
    overlong.insert(overlong.end(), after.begin(), after.end());
    rest = overlong;
    REQUIRE(decode(rest, decoded, limits) == bad);
    CHECK(rest.size() == overlong.size() - begin);
  }
}
