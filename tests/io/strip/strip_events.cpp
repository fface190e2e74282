// Files of two strips' events: every way of cutting them gives the same events, a round trip loses nothing, and a bad
// event is reported with its place.
#include "gadgets/strip/io/strip_events.hpp"

#include <cmath>
#include <cstring>
#include <random>

#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::formats;

namespace {

using Events = std::vector<StripResponse<float>>;

Events read(const std::string& bytes, StripFormat format, StripUnit unit = StripUnit::mm, std::size_t piece = 1 << 20) {
  StripEventReader reader(format, unit);
  Events events;
  const auto take = [&](const Events& some) { events.insert(events.end(), some.begin(), some.end()); };
  const auto all = std::as_bytes(std::span(bytes));
  for (std::size_t at = 0; at < all.size(); at += piece)
    take(reader.push(all.subspan(at, std::min(piece, all.size() - at))));
  take(reader.finish());
  return events;
}

bool same(const Events& a, const Events& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
}

Events random_events(std::size_t count) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 90);
  Events events(count);
  for (auto& event : events) event = {normal(random), normal(random), normal(random)};
  return events;
}

void refused_file(const std::string& text, const std::string& said, StripFormat format = StripFormat::text) {
  CAPTURE(text);
  CHECK_THROWS_WITH_AS(read(text, format), doctest::Contains(said.c_str()), std::runtime_error);
  CHECK_THROWS_WITH_AS(read(text, format, StripUnit::mm, 1), doctest::Contains(said.c_str()), std::runtime_error);
}

}  // namespace

TEST_CASE("text has an event a line, blanks as they come, comments and empty lines") {
  const Events events =
      read("# z_u z_d dl\n 1 -2.5\t3e1 \r\n\n   \n4 5 6 # of a point\n#\n-0.25 1e-3 7", StripFormat::text);
  CHECK(same(events, {{1, -2.5F, 30}, {4, 5, 6}, {-0.25F, 1e-3F, 7}}));
  CHECK(same(read("0.1 -0.02 0.0305\n", StripFormat::text, StripUnit::m), {{100, -20, 30.5F}}));
  CHECK(read("", StripFormat::text).empty());
  CHECK(read("# nothing", StripFormat::text).empty());
}

TEST_CASE("what is written is read back to the last bit, however the bytes are cut") {
  const Events events = random_events(5000);
  for (const StripFormat format : {StripFormat::text, StripFormat::float32})
    for (const StripUnit unit : {StripUnit::mm, StripUnit::m}) {
      std::string bytes;
      for (const auto& event : events) append_event(format, unit, event, bytes);
      const Events whole = read(bytes, format, unit);
      CHECK(whole.size() == events.size());
      if (format == StripFormat::text || unit == StripUnit::mm) CHECK(same(whole, events));
      for (const std::size_t piece : {7UL, 4099UL, 100'000UL}) CHECK(same(read(bytes, format, unit, piece), whole));
    }
}

TEST_CASE("triples in metres, as the field's simulators write them, are the same events to a float's precision") {
  std::string bytes;
  append_event(StripFormat::float32, StripUnit::m, {123.456F, -78.9F, 40.5F}, bytes);
  float raw[3];
  REQUIRE(bytes.size() == sizeof raw);
  std::memcpy(raw, bytes.data(), sizeof raw);
  CHECK(raw[0] == approx(0.123456).epsilon(1e-6));
  const Events back = read(bytes, StripFormat::float32, StripUnit::m);
  CHECK(back[0].z_down_mm == approx(-78.9).epsilon(1e-6));
}

TEST_CASE("a line that is no event is told by its number") {
  refused_file("1 2 3\n1 2\n", "line 2: '1 2' is not an event, three finite numbers");
  refused_file("1 2 3\n\n# x\n1 2 3 4\n5 6 7\n1 2", "line 4: '1 2 3 4'");
  refused_file("1 2 nan\n", "line 1: '1 2 nan'");
  refused_file("1 2 3\n1 2 3\n1 inf 3", "line 3: '1 inf 3'");
  refused_file("1e999 2 3\n", "line 1:");
  refused_file("1e39 2 3\n", "line 1:");
  refused_file("1,2,3\n", "line 1: '1,2,3'");
  refused_file("1 2 3x\n", "line 1: '1 2 3x'");
  refused_file("1 2- 3\n", "line 1:");
  refused_file(std::string("1 2 \x01\xff\n"), "line 1: '1 2 \?\?'");
  refused_file("1 2 3\n" + std::string(5000, '7'), "line 2: '777");
}

TEST_CASE("triples that are cut short or not finite are told by their byte") {
  std::string bytes;
  append_event(StripFormat::float32, StripUnit::mm, {1, 2, 3}, bytes);
  refused_file(bytes + "12345678901", "byte 12: the file ends within an event", StripFormat::float32);
  std::string broken = bytes;
  append_event(StripFormat::float32, StripUnit::mm, {1, std::nanf(""), 3}, broken);
  refused_file(broken, "byte 12: an event with a number that is not finite", StripFormat::float32);
}
// SPDX-License-Identifier: Apache-2.0
