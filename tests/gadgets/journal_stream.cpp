// Live streams with a journal from end to end: what was received is replayed as it came, a slow pipeline loses nothing,
// and a run is resumed.
#include <fstream>
#include <thread>

#include "gadgets/io/journal/reader.hpp"
#include "tests/gadgets/live_support.hpp"

using namespace tofstream;
using namespace live_test;
using wire_test::StreamMaker;

namespace {

constexpr const char* order_figures[] = {"frames",           "missing_frames",       "late_frames",
                                         "duplicate_frames", "frames_before_header", "frames_of_other_streams",
                                         "bad_frames"};

std::vector<Bytes> stream(int frames, std::uint32_t events_each) {
  StreamMaker maker;
  for (int k = 0; k < frames; ++k) maker.records(events_each);
  return maker.end();
}

/// Everything that may happen to frames.
std::vector<Bytes> misfortunes() {
  auto frames = stream(20, 100);
  frames[4].back() ^= std::byte{64};               // flipped
  frames[7].resize(frames[7].size() / 2);          // cut
  std::swap(frames[10], frames[12]);               // reordered
  frames.insert(frames.begin() + 15, frames[14]);  // twice
  frames.insert(frames.begin() + 1, Bytes(77));    // rubbish
  frames.erase(frames.end() - 3);                  // dropped
  return frames;
}

struct JournalPlace {
  const TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder / "socket").string();
  const std::string journal = (folder / "journal").string();
};

std::string replaying(const std::string& journal, const std::string& more = "") {
  return fmt::format(
      "gadgets:\n  feed: {{use: journal_source, path: {}{}}}\n  end: {{use: test_keep_events, from: feed.events}}\n",
      journal, more);
}

RunReport receive(const JournalPlace& place, const std::vector<Bytes>& frames, const std::string& more,
                  const std::string& sink = "") {
  std::jthread sender([&] { send(place.endpoint, frames); });
  RunReport report = run(receiving_records(place.endpoint, more, sink));
  REQUIRE_MESSAGE(report.exit_code == 0, first_error(report));
  CHECK(report.books.balanced());
  return report;
}

void check_same(const std::vector<EventBatch>& a, const std::vector<EventBatch>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    CHECK(std::ranges::equal(a[k].detector1.span(), b[k].detector1.span()));
    CHECK(std::ranges::equal(a[k].tof_mm.span(), b[k].tof_mm.span()));
    CHECK(a[k].start_s == b[k].start_s);
  }
}

}  // namespace

TEST_CASE("a journal keeps every message as it came, and its replay gives the events and books of the live run") {
  const JournalPlace place;
  const auto frames = misfortunes();
  const RunReport live = receive(place, frames, fmt::format(", late_s: 0.1, journal: {}", place.journal));
  const auto events = std::move(kept());
  journal::Reader reader(place.journal);
  for (const Bytes& frame : frames) {
    const auto entry = reader.next();
    REQUIRE(entry);
    CHECK(std::ranges::equal(entry->bytes, frame));
  }
  CHECK(!reader.next());

  const RunReport replayed = run(replaying(place.journal));
  REQUIRE_MESSAGE(replayed.exit_code == 0, first_error(replayed));
  check_same(kept(), events);
  CHECK(replayed.books.received == live.books.received);
  CHECK(replayed.books.lost == live.books.lost);
  for (const char* key : order_figures) CHECK_MESSAGE(figure(replayed, key) == figure(live, key), key);
}

TEST_CASE("a recorder keeps frames that nobody decodes, and balances the books") {
  const JournalPlace place;
  const auto frames = misfortunes();
  std::jthread sender([&] { send(place.endpoint, frames); });
  const RunReport report =
      run(fmt::format("gadgets:\n  feed: {{use: zmq_source, endpoint: \"{}\", late_s: 0.1}}\n"
                      "  kept: {{use: recorder, from: feed.frames, journal: {}}}\n",
                      place.endpoint, place.journal));
  REQUIRE_MESSAGE(report.exit_code == 0, first_error(report));
  CHECK(report.books.received == 2000);
  CHECK(report.books.written == 1700);
  CHECK(report.books.lost.at("sent, but not received") == 300);
  CHECK(run(replaying(place.journal)).books.lost.at("sent, but not received") == 300);
  CHECK(kept_events() == 1700);
}

TEST_CASE("a slow pipeline holds up no sender and loses nothing, with a journal and without") {
  for (const bool journalled : {true, false}) {
    CAPTURE(journalled);
    const JournalPlace place;
    const auto frames = stream(400, 1000);  // 4.8 MB
    const std::string where =
        journalled ? "journal: " + place.journal : "spill_folder: " + place.folder.path().string();
    const RunReport report = receive(place, frames, ", high_water_mark: 2, memory_mib: 1, " + where,
                                     ", edge: {messages: 2}, fault: {delay_at: 1, delay_ms: 700}");
    CHECK(kept_events() == 400'000);
    CHECK(figure(report, "missing_frames") == 0);
    CHECK(figure(report, "spilled_frames") > 100);
    CHECK(figure(report, "most_waiting_frames") > 200);
    CHECK(!std::get<bool>(gadget(report, "feed").figures.at("held_back")));
    for (std::size_t k = 1; k < kept().size(); ++k) CHECK(kept()[k - 1].start_s < kept()[k].start_s);
  }
}

TEST_CASE("a run that was stopped is continued: what the sender repeats is a duplicate, what came between is missed") {
  const JournalPlace place;
  const auto frames = stream(30, 100);
  const std::string journal = ", journal: " + place.journal;
  {
    Engine engine = engine_of(receiving_records(place.endpoint, journal));
    std::jthread sender([&] {
      send(place.endpoint, std::span(frames).first(11));
      while (engine.snapshot().gadgets.back().events_in < 1000)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      engine.request_stop();
    });
    const RunReport report = engine.run();
    CHECK(report.stopped);
    CHECK(kept_events() == 1000);
  }
  const RunReport refused = run(receiving_records(place.endpoint, journal));
  CHECK(refused.exit_code == exit_config);
  CHECK(first_error(refused).find("already holds 11 entries: continue it with resume") != std::string::npos);

  std::vector<Bytes> rest(frames.begin() + 8, frames.end());
  rest.erase(rest.begin() + 5);
  const RunReport report = receive(place, rest, journal + ", resume: true, late_s: 0.1");
  CHECK(kept_events() == 2900);
  CHECK(figure(report, "replayed_frames") == 11);
  CHECK(figure(report, "duplicate_frames") == 3);
  CHECK(figure(report, "missing_frames") == 1);
  CHECK(report.books.received == 3000);
  const RunReport whole = receive(place, {}, journal + ", resume: true, late_s: 0.1");
  CHECK(kept_events() == 2900);
  CHECK(figure(whole, "replayed_frames") == 34);
}

TEST_CASE("a replay begins where it is asked to, and says where it cannot") {
  const JournalPlace place;
  receive(place, stream(20, 100), ", journal: " + place.journal);
  const auto all = std::move(kept());
  RunReport report = run(replaying(place.journal, ", from_event: 750"));
  REQUIRE_MESSAGE(report.exit_code == 0, first_error(report));
  check_same(kept(), {all.begin() + 7, all.end()});
  CHECK(report.books.received == 1300);
  CHECK(figure(report, "missing_frames") == 0);
  CHECK(figure(report, "duplicate_frames") == 0);
  report = run(replaying(place.journal, ", from_s: 1.25, speed: 1e6"));
  check_same(kept(), {all.begin() + 12, all.end()});
  report = run(replaying(place.journal, ", from_event: 2000"));
  CHECK(report.exit_code == exit_config);
  CHECK(first_error(report).find("holds no frame from event 2000 and 0 s on: begin earlier") != std::string::npos);
}

TEST_CASE("what a damaged journal has lost is booked as lost, and nothing else") {
  const JournalPlace place;
  receive(place, stream(20, 100), ", journal: " + place.journal);
  const std::string segment = place.journal + "/00000001.journal";
  {
    std::fstream file(segment, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(-5000, std::ios::end);  // in one of the last data frames
    file.write("damage", 6);
  }
  const RunReport report = run(replaying(place.journal));
  REQUIRE_MESSAGE(report.exit_code == 0, first_error(report));
  CHECK(kept_events() == 1900);
  CHECK(report.books.lost.at("sent, but not received") == 100);
  CHECK(report.books.balanced());
  CHECK(figure(report, "journal_missing_entries") == 1);
  std::filesystem::resize_file(segment, std::filesystem::file_size(segment) - 3000);
  const RunReport torn = run(replaying(place.journal));
  CHECK(torn.exit_code == 0);
  CHECK(torn.books.balanced());
  CHECK(figure(torn, "journal_torn_bytes") > 0);
  CHECK(!std::get<bool>(gadget(torn, "feed").figures.at("ended")));
}

TEST_CASE("PETSIRD is journalled and replayed as it came") {
  const JournalPlace place;
  StreamMaker maker;
  const auto frames = maker.blocks(300).blocks(200).blocks(100).end();
  const std::string decoding =
      "  events: {use: petsird_decoder, from: feed.bytes}\n"
      "  end: {use: test_keep_events, from: events}\n";
  std::jthread sender([&] { send(place.endpoint, frames); });
  const RunReport live = run(fmt::format("gadgets:\n  feed: {{use: zmq_source, endpoint: \"{}\", journal: {}}}\n",
                                         place.endpoint, place.journal) +
                             decoding);
  REQUIRE_MESSAGE(live.exit_code == 0, first_error(live));
  const auto events = std::move(kept());
  const RunReport replayed =
      run(fmt::format("gadgets:\n  feed: {{use: journal_source, path: {}}}\n", place.journal) + decoding);
  REQUIRE_MESSAGE(replayed.exit_code == 0, first_error(replayed));
  CHECK(replayed.books.received == 600);
  check_same(kept(), events);
  const RunReport later = run(
      fmt::format("gadgets:\n  feed: {{use: journal_source, path: {}, from_event: 300}}\n", place.journal) + decoding);
  REQUIRE_MESSAGE(later.exit_code == 0, first_error(later));
  CHECK(later.books.received == 300);
}

TEST_CASE("after a stop, what waits longer than it may is left out, and the books say so") {
  const JournalPlace place;
  const auto frames = stream(300, 100);
  Engine engine = engine_of(
      receiving_records(place.endpoint, ", drain_s: 0", ", edge: {messages: 1}, fault: {delay_at: 1, delay_ms: 300}"));
  std::jthread sender([&] { send(place.endpoint, frames); });
  std::jthread stopper([&] {
    while (engine.snapshot().gadgets.back().events_in < 200) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    engine.request_stop();
  });
  const RunReport report = engine.run();
  REQUIRE_MESSAGE(report.exit_code == 0, first_error(report));
  CHECK(report.books.balanced());
  CHECK(report.books.lost.contains("received, but the run was stopped before their turn"));
  CHECK(kept_events() + report.books.lost.begin()->second == report.books.received);
  CHECK(report.books.lost.size() == 1);
}

TEST_CASE("a source alone records; one that nothing keeps, or resumes from nothing, starts nothing") {
  const JournalPlace place;
  std::jthread sender([&] { send(place.endpoint, stream(5, 100)); });
  const std::string alone = fmt::format("gadgets:\n  feed: {{use: zmq_source, endpoint: \"{}\"", place.endpoint);
  const RunReport recorded = run(alone + ", journal: " + place.journal + "}\n");
  CHECK(recorded.exit_code == 0);
  CHECK(recorded.books.written == 500);
  const RunReport unkept = run(alone + "}\n");
  CHECK(unkept.exit_code == exit_config);
  CHECK(first_error(unkept).find("connect an output, or set journal") != std::string::npos);
  const RunReport report = run(receiving_records(place.endpoint, ", resume: true"));
  CHECK(report.exit_code == exit_config);
  CHECK(first_error(report).find("resume needs the journal that is to be continued") != std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
