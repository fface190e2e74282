// Streams of a sender that began again: which are taken, when the scan has ended, and what time it is in them.
#include <limits>

#include "gadgets/io/wire/stream_set.hpp"

using namespace tofstream::wire;

namespace {

constexpr std::uint64_t ms = 1000000, s = 1000 * ms, epoch = 1700000000 * s;

FrameHeader header(std::uint64_t stream) {
  return {.kind = FrameKind::stream_header, .schema = Schema::petsird, .stream = stream};
}
FrameHeader data(std::uint64_t stream, std::uint64_t sequence, std::uint64_t start_ns) {
  return {.schema = Schema::tof_coincidences,
          .stream = stream,
          .sequence = sequence,
          .first_event = 10 * (sequence - 1),
          .events = 10,
          .start_ns = start_ns,
          .duration_ns = 100 * ms};
}
FrameHeader end(std::uint64_t stream, std::uint64_t sequence) {
  return {.kind = FrameKind::end, .stream = stream, .sequence = sequence, .first_event = 10 * (sequence - 1)};
}

}  // namespace

TEST_CASE("only what begins is known; frames of others are counted") {
  StreamSet streams;
  CHECK(streams.take(data(5, 1, 0), epoch, false) == Arrival::before_header);
  CHECK(streams.take(header(5), epoch, true) == Arrival::wanted);
  streams.begin_at(data(6, 3, 0));  // of a stream that is left out
  CHECK(streams.missing_frames() == 0);
  CHECK(streams.take(header(6), epoch, false) == Arrival::other_stream);
  CHECK(streams.take(data(6, 1, 0), epoch, false) == Arrival::other_stream);
  CHECK(streams.take(data(5, 1, 0), epoch, false) == Arrival::wanted);
  CHECK(streams.counts().before_header == 1);
  CHECK(streams.counts().of_other_streams == 2);
  CHECK(streams.counts().events == 10);
  CHECK(!streams.has_ended());
  streams.take(end(5, 2), epoch, false);
  CHECK(streams.has_ended());
}

TEST_CASE("a clock that began anew is set by when data came in; one that went on is believed") {
  StreamSet streams;
  streams.take(header(5), epoch, true);
  streams.take(data(5, 1, 2 * s), epoch + s, false);
  streams.take(header(6), epoch + 3 * s, true);
  CHECK(streams.take(data(6, 1, 0), epoch + 5 * s + 1, false) == Arrival::wanted);
  CHECK(streams.shift_ns(5) == 0);
  CHECK(streams.shift_ns(6) == 6001 * ms);  // the scan began 1 s before `epoch`; rounded up to a whole ms
  CHECK(streams.gap_ns() == 3901 * ms);
  streams.take(header(7), epoch + 20 * s, true);
  streams.take(data(7, 1, 30 * s), epoch + 21 * s, false);
  CHECK(streams.shift_ns(7) == 0);
  CHECK(streams.stream() == 7);
  CHECK(streams.missing_frames() == 0);
}

TEST_CASE("time never goes back, whatever clocks and strangers' frames say") {
  StreamSet streams;
  streams.take(header(5), epoch, true);
  streams.take(data(5, 1, 10 * s), epoch, false);
  streams.take(header(6), epoch - 100 * s, true);
  streams.take(data(6, 1, 0), epoch - 100 * s, false);  // a clock that was turned back
  CHECK(streams.shift_ns(6) == 10100 * ms);
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  for (std::uint64_t stream = 7; stream < 1000; ++stream) {
    streams.take(header(stream), stream % 2 ? most : 0, true);
    streams.take(data(stream, 1, stream % 3 ? most - 200 * ms : 0), stream % 2 ? most : 0, false);
    if (streams.knows(stream)) CHECK(streams.shift_ns(stream) >= 0);
  }
  CHECK(streams.size() == 256);
}

TEST_CASE("what was on its way when a sender ended is taken; one that goes on is beside the other, and must end too") {
  StreamSet streams;
  streams.take(header(5), epoch, true);
  streams.take(header(6), epoch + s, true);
  CHECK(streams.take(data(5, 1, 0), epoch + 2 * s, false) == Arrival::wanted);
  CHECK(!streams.has_two_at_once());
  streams.take(data(6, 1, 0), epoch + 3 * s, false);
  streams.take(data(5, 2, 0), epoch + 20 * s, false);
  CHECK(streams.has_two_at_once());
  streams.take(end(6, 2), epoch + 21 * s, false);
  CHECK(!streams.has_ended());
  streams.take(end(5, 4), epoch + 22 * s, false);
  CHECK(streams.has_ended());
  CHECK(streams.is_missing_frames());
  CHECK(streams.missing_frames() == 1);
  CHECK(streams.missing_events() == 10);
}

TEST_CASE("frames of a stream that was broken off are waited for no longer") {
  StreamSet streams;
  streams.take(header(5), epoch, true);
  streams.take(data(5, 3, 0), epoch, false);
  streams.take(header(6), epoch, true);
  streams.take(end(6, 1), epoch, false);
  CHECK(streams.has_ended());
  CHECK(!streams.is_missing_frames());
  CHECK(streams.missing_frames() == 2);
}
// SPDX-License-Identifier: Apache-2.0
