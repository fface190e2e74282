// What comes out of frames, and how damaged, missing and duplicate ones are booked.
#include "core/testing.hpp"
#include "gadgets/wire/stream_receiver.hpp"
#include "tests/gadgets/wire_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using wire_test::Bytes;
using wire_test::StreamMaker;

namespace {

class Receiving {
 public:
  explicit Receiving(const std::vector<Bytes>& frames, OnNewStream on_new_stream = OnNewStream::go_on,
                     std::uint64_t ns_apart = 0) {
    StreamReceiver receiver(emit_, context_, {.on_new_stream = on_new_stream});
    std::uint64_t ingress_ns = 1700000000000000000;
    for (const Bytes& frame : frames) receiver.take({.data = frame, .ingress_ns = ingress_ns += ns_apart});
    is_complete = receiver.is_complete();
    receiver.finish();
  }
  auto events() const { return emit_.of<&LiveStream::events>(); }
  Bytes bytes() const {
    Bytes all;
    for (const auto& block : emit_.of<&LiveStream::bytes>())
      all.insert(all.end(), block->data.begin(), block->data.end());
    return all;
  }
  auto blocks() const { return emit_.of<&LiveStream::bytes>(); }
  std::string left_out() const { return std::get<std::string>(context_.figures().at("stream_left_out")); }
  bool has(const std::string& key) const { return context_.figures().contains(key); }
  BookEntries books() const { return context_.recorded(); }
  std::int64_t figure(const std::string& key) const { return std::get<std::int64_t>(context_.figures().at(key)); }
  bool is_complete = false;

 private:
  CollectingEmit<LiveStream> emit_;
  TestContext context_;
};

/// Six frames: the header, 10, 20, 30 and 40 events, the end.
std::vector<Bytes> stream() {
  return StreamMaker().records(10).records(20).records(30).records(40).end();
}

void check_lost(const Receiving& got, std::uint64_t received, std::uint64_t lost) {
  std::uint64_t events = 0;
  for (const auto& batch : got.events()) events += batch->event_count();
  CHECK(events == received);
  CHECK(got.books().received == received + lost);
  CHECK(got.books().lost_total() == lost);
  CHECK(got.books().rejected_total() == 0);
}

}  // namespace

TEST_CASE("records come out as batches with the scanner of the header") {
  const Receiving got(stream());
  CHECK(got.is_complete);
  check_lost(got, 100, 0);
  const auto batches = got.events();
  REQUIRE(batches.size() == 4);
  CHECK(batches[2]->start_s == approx(0.2));
  CHECK(batches[2]->scanner->name == petsird::to_scanner(wire_test::header().scanner)->name);
  CHECK(batches[2]->detectors->size() == 16);
  CHECK(batches[2]->detector1[0] == 4 + 30 % 8);
  CHECK(got.bytes().empty());
  CHECK(got.figure("frames") == 5);
}

TEST_CASE("PETSIRD comes out as the bytes of a file, whole also where it holds no blocks") {
  StreamMaker maker;
  const auto frames = maker.blocks(3).blocks(5).end();
  const Receiving got(frames);
  CHECK(got.bytes() == maker.whole());
  CHECK(got.events().empty());
  CHECK(got.books().received == 0);  // the decoder books what it finds
  StreamMaker empty;
  const auto nothing = empty.end();
  CHECK(Receiving(nothing).bytes() == empty.whole());
}

TEST_CASE("what comes out entered the program when its frame did; of a recording, when it is replayed") {
  CollectingEmit<LiveStream> emit;
  TestContext context;
  StreamReceiver receiver(emit, context);
  const auto frames = stream();
  const auto entered = std::chrono::steady_clock::now() - std::chrono::seconds(7);
  receiver.take({.data = frames[0], .entered = entered});
  CHECK(context.message().ingress == entered);
  CHECK(context.message().last_ingress == entered);
  receiver.take({.data = frames[1]});
  CHECK(context.message().ingress == std::chrono::steady_clock::time_point{});
}

TEST_CASE("missing, damaged and cut frames lose their events and no others, which the books say") {
  auto frames = stream();
  frames.erase(frames.begin() + 2);
  const Receiving missing(frames);
  CHECK(!missing.is_complete);
  check_lost(missing, 80, 20);
  CHECK(missing.figure("missing_frames") == 1);

  frames = stream();
  frames[1].back() ^= std::byte{1};
  frames[3].pop_back();
  const Receiving damaged(frames);
  check_lost(damaged, 60, 40);
  CHECK(damaged.figure("bad_frames") == 2);
  CHECK(damaged.figure("bad_frames_checksum") == 1);
  CHECK(damaged.figure("bad_frames_payload_size") == 1);
}

TEST_CASE("duplicates and reordered frames lose nothing") {
  auto frames = stream();
  std::swap(frames[1], frames[3]);
  frames.insert(frames.begin() + 2, frames[1]);
  frames.push_back(frames[2]);
  frames.insert(frames.begin() + 3, frames[0]);
  const Receiving got(frames);
  CHECK(got.is_complete);
  check_lost(got, 100, 0);
  CHECK(got.figure("duplicate_frames") == 2);
  CHECK(got.figure("late_frames") == 2);
  CHECK(got.figure("missing_frames") == 0);
}

TEST_CASE("what comes before the header is lost, rubbish and other streams are left out") {
  auto frames = stream();
  std::swap(frames[0], frames[1]);
  const auto others = StreamMaker(wire_test::header(), 6).records(7).end();
  frames.insert(frames.begin() + 3, others.begin(), others.end());
  frames.insert(frames.begin(), Bytes(1000, std::byte{'x'}));
  frames.insert(frames.begin(), Bytes());
  const Receiving got(frames, OnNewStream::ignore);
  check_lost(got, 90, 10);
  CHECK(got.figure("frames_before_header") == 1);
  CHECK(got.figure("frames_of_other_streams") == 3);
  CHECK(got.figure("bad_frames_magic") == 1);
  CHECK(got.figure("bad_frames_too_short") == 1);
}

TEST_CASE("events that the scanner cannot have seen, or of another kind than the first, are rejected") {
  StreamMaker small;
  auto frames = small.records(10).blocks(4).end();
  const Receiving mixed(frames);
  CHECK(mixed.books().received == 14);
  CHECK(mixed.books().rejected.at("in data of another kind than the stream's first") == 4);
  CHECK(mixed.books().lost_total() == 0);

  petsird::Header fewer = wire_test::header();
  frames = StreamMaker(fewer).records(10).end();
  auto payload = Bytes(frames[1].begin() + wire::header_bytes, frames[1].end());
  payload[3] = std::byte{1};  // detector 2^24 and more
  frames[1] =
      wire::encode_frame({.schema = wire::Schema::tof_coincidences, .stream = 5, .sequence = 1, .events = 10}, payload);
  const Receiving wrong(frames);
  CHECK(wrong.books().received == 10);
  CHECK(wrong.books().rejected.at("in records that the scanner cannot have seen") == 10);
  CHECK(wrong.figure("bad_frames_contents") == 1);
}

TEST_CASE("a header that is of no use to records ends the run, and says why") {
  const auto frames = StreamMaker(petsird::toy::header()).records(10).end();
  CHECK_THROWS_WITH(Receiving{frames}, doctest::Contains("must be sent as PETSIRD"));
}

TEST_CASE("a first header that is damaged is refused, and the next one is waited for") {
  auto frames = stream();
  const Bytes cut =
      wire::encode_frame({.kind = wire::FrameKind::stream_header, .schema = wire::Schema::petsird, .stream = 9},
                         std::span(frames[0]).subspan(wire::header_bytes, 2000));
  frames.insert(frames.begin(), cut);
  const Receiving got(frames);
  CHECK(got.is_complete);
  check_lost(got, 100, 0);
  CHECK(got.figure("refused_headers") == 1);
  CHECK(got.left_out() == "its header cannot be used, the stream's header is cut short: fix the sender");
}

namespace {

/// The frames of a sender that was killed: without the end.
std::vector<Bytes> broken_off(StreamMaker& maker) {
  auto frames = maker.end();
  frames.pop_back();
  return frames;
}

std::vector<Bytes> operator+(std::vector<Bytes> a, const std::vector<Bytes>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<Bytes> begun_again(const petsird::Header& header = wire_test::header()) {
  StreamMaker first, second(header, 6);
  return broken_off(first.records(10).records(20)) + second.records(30).records(40).end();
}

}  // namespace

TEST_CASE("a sender that begins again goes on with the scan: its events count, later in time, and the gap is said") {
  constexpr std::uint64_t second_ns = 1000000000;
  const Receiving got(begun_again(), OnNewStream::go_on, second_ns);
  CHECK(got.is_complete);
  check_lost(got, 100, 0);
  CHECK(!got.has("two_senders_at_once"));
  const auto batches = got.events();
  REQUIRE(batches.size() == 4);
  // The first data came in 1 s after the header, at scan time 0, and those of the second stream 3 s later.
  CHECK(batches[1]->start_s == approx(0.1));
  CHECK(batches[2]->start_s == approx(3));
  CHECK(batches[3]->start_s == approx(3.1));
  CHECK(got.figure("streams") == 2);
  CHECK(got.figure("frames_of_other_streams") == 0);
  CHECK(!got.has("stream_left_out"));
}

TEST_CASE("a recording of PETSIRD whose sender began again is one stream of bytes; times are shifted by whole ms") {
  StreamMaker first, second(wire_test::header(), 6);
  const auto frames = broken_off(first.blocks(3).blocks(5)) + second.blocks(7).end();
  const Receiving got(frames);  // without times of arrival: one follows the other
  CHECK(got.is_complete);
  const auto blocks = got.blocks();
  REQUIRE(blocks.size() == 5);  // the header, three of data, the end
  CHECK(blocks[2]->time_shift_ms == 0);
  CHECK(blocks[3]->time_shift_ms == 200);
}

TEST_CASE("a sender that begins again ends the scan, or is left out, where that is asked for") {
  const Receiving ended(begun_again(), OnNewStream::end);
  CHECK(ended.is_complete);
  check_lost(ended, 30, 0);
  CHECK(ended.left_out() == "a sender that begins again ends the scan (on_new_stream: end)");
  const Receiving ignored(begun_again(), OnNewStream::ignore);
  CHECK(!ignored.is_complete);
  check_lost(ignored, 30, 0);
  CHECK(ignored.figure("frames_of_other_streams") == 4);
}

TEST_CASE("a stream of another scanner, or of another patient, never goes on with a scan") {
  petsird::Header other = wire_test::header();
  other.scanner.model_name += " II";
  const Receiving scanner(begun_again(other));
  check_lost(scanner, 30, 0);
  CHECK(scanner.left_out() == "its scanner is another than the first stream's");
  other = wire_test::header();
  (other.exam ? *other.exam : other.exam.emplace()).subject.id = "another";
  const Receiving patient(begun_again(other));
  check_lost(patient, 30, 0);
  CHECK(patient.left_out() == "its examination is another than the first stream's");
}

TEST_CASE("what is left out at a stop counts as received and lost, also where nothing was taken before") {
  CollectingEmit<LiveStream> emit;
  TestContext context;
  StreamReceiver receiver(emit, context);
  for (const Bytes& frame : begun_again()) receiver.leave_out({.data = frame}, "stopped");
  CHECK(context.recorded().received == 100);
  CHECK(context.recorded().lost.at("stopped") == 100);
}

TEST_CASE("two senders at once are both taken, to the end of both, and the log says so") {
  StreamMaker first, second(wire_test::header(), 6);
  const auto a = first.records(10).records(20).end(), b = second.records(30).end();
  constexpr std::uint64_t long_ns = 11000000000;
  const Receiving got({a[0], a[1], b[0], b[1], a[2], b[2], a[3]}, OnNewStream::go_on, long_ns);
  CHECK(got.is_complete);
  check_lost(got, 60, 0);
  CHECK(got.has("two_senders_at_once"));
  const Receiving waits({a[0], a[1], b[0], b[1], a[2], b[2]}, OnNewStream::go_on, long_ns);
  CHECK(!waits.is_complete);
}
// SPDX-License-Identifier: Apache-2.0
