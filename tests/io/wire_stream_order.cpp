// Gaps, late frames and duplicates of a stream, and how many frames and events are missing.
#include <random>

#include "gadgets/io/wire/stream_order.hpp"

using namespace tofstream::wire;

namespace {

constexpr std::uint64_t each = 10;  // events a frame

FrameHeader start(std::uint64_t stream = 5) {
  return {.kind = FrameKind::stream_header, .schema = Schema::petsird, .stream = stream};
}
FrameHeader data(std::uint64_t sequence, std::uint64_t stream = 5) {
  return {.schema = Schema::tof_coincidences,
          .stream = stream,
          .sequence = sequence,
          .first_event = (sequence - 1) * each,
          .events = each};
}
FrameHeader end(std::uint64_t sequence) {
  return {.kind = FrameKind::end, .stream = 5, .sequence = sequence, .first_event = (sequence - 1) * each};
}

}  // namespace

TEST_CASE("a stream in order misses nothing") {
  StreamOrder order;
  CHECK(!order.has_begun());
  CHECK(order.take(start()) == Arrival::wanted);
  for (std::uint64_t k = 1; k <= 3; ++k) CHECK(order.take(data(k)) == Arrival::wanted);
  CHECK(!order.has_ended());
  CHECK(order.take(end(4)) == Arrival::wanted);
  CHECK(order.has_ended());
  CHECK(order.counts().frames == 4);
  CHECK(order.counts().events == 30);
  CHECK(order.counts().late == 0);
  CHECK(order.missing_frames() == 0);
  CHECK(order.missing_events() == 0);
}

TEST_CASE("gaps are counted in frames and events, and filled by frames that come late") {
  StreamOrder order;
  order.take(start());
  order.take(data(1));
  order.take(data(5));
  CHECK(order.missing_frames() == 3);
  CHECK(order.missing_events() == 30);
  CHECK(order.take(data(3)) == Arrival::wanted);
  CHECK(order.take(data(3)) == Arrival::duplicate);
  CHECK(order.missing_frames() == 2);
  CHECK(order.take(data(2)) == Arrival::wanted);
  CHECK(order.take(data(4)) == Arrival::wanted);
  CHECK(order.missing_frames() == 0);
  CHECK(order.missing_events() == 0);
  CHECK(order.counts().late == 3);
  CHECK(order.counts().duplicates == 1);
  order.take(end(8));  // 6 and 7 never came: only the end tells
  CHECK(order.missing_frames() == 2);
  CHECK(order.missing_events() == 20);
}

TEST_CASE("what comes before the header, again, or of another stream is told apart") {
  StreamOrder order;
  CHECK(order.take(data(1)) == Arrival::before_header);
  CHECK(order.take(start()) == Arrival::wanted);
  CHECK(order.take(start()) == Arrival::header_again);
  CHECK(order.take(data(2)) == Arrival::wanted);
  CHECK(order.missing_frames() == 1);  // the unreadable frame
  CHECK(order.missing_events() == each);
  CHECK(order.take(start(6)) == Arrival::other_stream);
  CHECK(order.take(data(3, 6)) == Arrival::other_stream);
  CHECK(order.counts().of_other_streams == 2);
  CHECK(order.counts().before_header == 1);
  CHECK(order.stream() == 5);
}

TEST_CASE("frames in any order, some of them twice, are each taken once") {
  constexpr std::uint64_t frames = 3000;
  std::vector<std::uint64_t> sent;
  for (std::uint64_t k = 1; k <= frames; ++k) sent.insert(sent.end(), k % 7 == 0 ? 2 : 1, k);
  std::shuffle(sent.begin(), sent.end(), std::mt19937(1));
  StreamOrder order;
  order.take(start());
  std::uint64_t wanted = 0;
  for (const std::uint64_t k : sent) wanted += order.take(data(k)) == Arrival::wanted ? 1 : 0;
  CHECK(wanted == frames);
  CHECK(order.counts().duplicates == frames / 7);
  CHECK(order.missing_frames() == 0);
  CHECK(order.missing_events() == 0);
}

TEST_CASE("more gaps than are kept are still counted") {
  constexpr std::uint64_t frames = 20'000;
  StreamOrder order;
  order.take(start());
  for (std::uint64_t k = 1; k <= frames; ++k) order.take(data(2 * k));
  CHECK(order.missing_frames() == frames);
  CHECK(order.missing_events() == frames * each);
  CHECK(order.take(data(1)) == Arrival::duplicate);  // too late to tell it from a duplicate
  CHECK(order.take(data(2 * frames - 1)) == Arrival::wanted);
}
// SPDX-License-Identifier: Apache-2.0
