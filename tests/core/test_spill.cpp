// Messages that a slow reader has not taken wait in memory, then on disk: in order, in the books, and gone at the end.
#include <filesystem>
#include <fstream>

#include "config_support.hpp"
#include "core/base/spill_file.hpp"
#include "core/gadget/spill.hpp"
#include "gadgets.hpp"
#include "tests/support/full_disk.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

using Bytes = std::vector<std::byte>;

SpillPiece put(SpillFile& file, const Bytes& bytes) {
  const std::span<const std::byte> parts[] = {std::span(bytes).first(bytes.size() / 2),
                                              std::span(bytes).subspan(bytes.size() / 2)};
  return file.put(parts);
}

void replace(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what))
    text.replace(at, what.size(), by);
}

// A pipeline whose sink waits at its first batch until `go_on`, called with the spilling edge's current figures,
// returns true.
struct SlowRun {
  TemporaryFolder folder;
  Witness witness;
  RunReport report;
  EdgeFigures at_most;  // the figures when the sink continued

  // FOLDER in the pipeline stands for an empty folder. The sink also continues if the run has failed.
  void run(std::string yaml, const std::function<bool(const EdgeFigures&)>& go_on,
           const std::function<void(RunControl&)>& then = {}) {
    replace(yaml, "FOLDER", folder.path.string());
    Engine engine(parse_pipeline(yaml, "test.yaml"));
    witness.on_sink = [&](std::uint64_t number) {
      if (number != 0) return;
      const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      for (;;) {
        const RunReport now = engine.snapshot();
        at_most = spilling(now);
        if (go_on(at_most) || !now.errors.empty()) break;
        if (std::chrono::steady_clock::now() > late) throw std::runtime_error("the edge does not fill");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      if (then) then(engine.control());
    };
    report = engine.run();
  }

  static EdgeFigures spilling(const RunReport& report) {
    return std::ranges::find(report.edges, EdgePolicy::spill, [](const EdgeReport& e) { return e.limits.policy; })
        ->figures;
  }

  void check_all_came(std::uint64_t batches) {
    CHECK(report.exit_code == 0);
    CHECK(report.errors.empty());
    CHECK(witness.numbers["collect"] == counted(batches));
    CHECK(report.books.received == 10 * batches);
    CHECK(report.books.reconstructed == 10 * batches);
    CHECK(report.books.balanced());
    check_nothing_is_left();
  }
  void check_nothing_is_left() {
    const EdgeFigures figures = spilling(report);
    CHECK(figures.waiting_messages == 0);
    CHECK(figures.waiting_bytes == 0);
    CHECK(figures.disk_messages == 0);
    CHECK(figures.disk_bytes == 0);
    CHECK(std::filesystem::is_empty(folder.path));
  }
};

auto all_sent(std::uint64_t batches) {
  return [batches](const EdgeFigures& figures) { return figures.messages == batches; };
}

constexpr const char* endless_feed = R"(
gadgets:
  feed: {use: count, endless: true}
  last: {use: collect, from: feed, edge: {policy: spill, bytes: 10000, spill_folder: FOLDER}}
)";

/// All bytes of a place.
Bytes bytes_at(const FilePlace& place) {
  Bytes bytes(place.size);
  place.read(0, bytes);
  return bytes;
}

}  // namespace

TEST_CASE("a spill file gives back what it took, and its place with it") {
  const TemporaryFolder folder;
  const std::shared_ptr<SpillFile> file = SpillFile::in(folder.path);
  CHECK(std::filesystem::is_empty(folder.path));
  Bytes large(100'000);
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::byte>(i * 7);
  SpillPiece first = put(*file, large), second = put(*file, Bytes(10, std::byte{1}));
  CHECK(bytes_at(first.place()) == large);
  CHECK(bytes_at(second.place()) == Bytes(10, std::byte{1}));
  CHECK(second.place().offset >= large.size());
  {
    const auto mapped = SpillPiece::map(std::move(second));
    CHECK(Bytes(mapped.get(), mapped.get() + 10) == Bytes(10, std::byte{1}));
    first = {};
    CHECK(Bytes(mapped.get(), mapped.get() + 10) == Bytes(10, std::byte{1}));
  }
  CHECK(put(*file, large).place().offset == 0);  // nothing was left, so it starts at the beginning again
  CHECK_THROWS_WITH_AS(SpillFile::in("/nowhere"), "cannot make a file in /nowhere: No such file or directory",
                       std::system_error);
  const FullDisk disk(8192);
  CHECK_THROWS_WITH_AS(put(*file, large),
                       ("cannot write an unnamed file in " + folder.path.string() + ": File too large").c_str(),
                       std::system_error);
}

TEST_CASE("a payload's bytes are read as they were written") {
  const TemporaryFolder folder;
  const auto shared = std::make_shared<const int>(5);
  std::vector<double> large(10'000), small(3, 2.5);
  std::iota(large.begin(), large.end(), 0.0);
  SpillWriter writer;
  for (int i = 0; i < 50; ++i) {
    writer.value(i);
    writer.shared(i % 2 ? shared : nullptr);
    writer.array(std::span<const double>(i % 10 == 0 ? large : small));
    writer.array(std::span<const double>());
  }
  const SpillPiece piece = SpillFile::in(folder.path)->put(writer.parts());
  const auto objects = writer.take_shared();
  CHECK(objects.size() == 1);
  SpillReader reader(piece.place(), objects);
  for (int i = 0; i < 50; ++i) {
    REQUIRE(reader.value<int>() == i);
    REQUIRE(reader.shared<int>() == (i % 2 ? shared : nullptr));
    REQUIRE(reader.array<double>() == (i % 10 == 0 ? large : small));
    REQUIRE(reader.array<double>().empty());
  }
  CHECK_THROWS(reader.value<int>());
}

TEST_CASE("what a slow reader has not taken comes in order from memory and disk, whatever the limits") {
  struct Case {
    const char* bytes;
    std::uint64_t batches, load;
  };
  for (const Case& c :
       {Case{"0", 50, 0}, {"1", 50, 10}, {"3000", 500, 0}, {"100000", 3000, 2}, {"1000000", 30, 400'000}}) {
    CAPTURE(c.bytes);
    SlowRun slow;
    slow.run(fmt::format(R"(
gadgets:
  feed: {{use: count, messages: {}, load: {}}}
  last: {{use: collect, from: feed, edge: {{policy: spill, bytes: {}, spill_folder: FOLDER}}}}
)",
                         c.batches, c.load, c.bytes),
             all_sent(c.batches));
    slow.check_all_came(c.batches);
    const EdgeFigures figures = SlowRun::spilling(slow.report);
    CHECK(slow.at_most.disk_messages > c.batches / 2);
    CHECK(slow.at_most.waiting_messages == c.batches - 1);
    CHECK(figures.spilled_messages >= slow.at_most.disk_messages);
    CHECK(figures.spilled_bytes >= figures.most_disk_bytes);
    CHECK(figures.most_disk_bytes >= slow.at_most.disk_bytes);
    CHECK(figures.most_messages >= c.batches - 1);
    CHECK(figures.most_bytes <= std::stoul(c.bytes) + 4 * (1000 + 8 * c.load));
  }
}

TEST_CASE("a reader that keeps up never meets the disk") {
  SlowRun slow;
  slow.run(R"(
gadgets:
  feed: {use: count, messages: 300, pause_ms: 0.01}
  last: {use: blocking_collect, from: feed, edge: {policy: spill, bytes: 1000000, spill_folder: FOLDER}}
)",
           [](const EdgeFigures&) { return true; });
  slow.check_all_came(300);
  CHECK(SlowRun::spilling(slow.report).spilled_messages == 0);
}

TEST_CASE("with disk_bytes the writer is held back once these are full, and nothing is lost") {
  SlowRun slow;
  slow.run(R"(
gadgets:
  feed: {use: count, messages: 400, load: 100}
  last: {use: collect, from: feed, edge: {policy: spill, bytes: 20000, disk_bytes: 50000, spill_folder: FOLDER}}
)",
           [](const EdgeFigures& figures) { return figures.disk_bytes > 40'000 && figures.waiting_bytes > 15'000; });
  slow.check_all_came(400);
  CHECK(slow.at_most.messages < 400);
  CHECK(SlowRun::spilling(slow.report).most_disk_bytes <= 50'000);
}

TEST_CASE("spilling edges between parallel gadgets, a fan-out and an ordered merge keep every order") {
  for (const char* merge : {"ordered", "unordered"}) {
    CAPTURE(merge);
    std::string yaml = R"(
gadgets:
  feed: {use: count, messages: 600}
  work: {use: pass, from: feed, parallel: 3, edge: {policy: spill, bytes: 4000, spill_folder: FOLDER}}
  more: {use: pass, from: work, parallel: 2, uneven: true, delay_ms: 0.01, edge: {policy: spill, bytes: 2000}}
  part: {use: split, from: more, edge: {policy: spill, bytes: 0}}
  all:  {use: pass, from: [part.even, part.odd], merge: MERGE, edge: {policy: spill, bytes: 5000}}
  last: {use: collect, from: all, edge: {policy: spill, bytes: 2500}}
)";
    replace(yaml, "MERGE", merge);
    SlowRun slow;
    slow.run(yaml, [](const EdgeFigures& figures) { return figures.messages > 50; });
    CHECK(slow.report.exit_code == 0);
    CHECK(slow.report.books.balanced());
    std::vector<std::uint64_t> came = slow.witness.numbers["collect"];
    if (std::string_view(merge) == "unordered") std::ranges::sort(came);
    CHECK(came == counted(600));
  }
}

TEST_CASE("a join by sequence pairs what was on disk with what was not") {
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 300}
  few:  {use: every, from: feed, of: 3}
  both: {use: pair, from: {left: few, right: feed}, join: sequence, edge: {left: {policy: spill, bytes: 0}, right: {policy: spill, bytes: 1500}}}
  last: {use: collect, from: both, delay_ms: 0.1, edge: {messages: 1}}
)");
  CHECK(report.exit_code == 0);
  std::vector<std::uint64_t> wanted;
  for (std::uint64_t i = 0; i < 300; i += 3) wanted.push_back(101 * i);
  CHECK(witness.numbers["pair"] == wanted);
}

TEST_CASE("an interrupt stops the source, and what waits on disk still comes") {
  SlowRun slow;
  slow.run(
      endless_feed, [](const EdgeFigures& figures) { return figures.disk_messages > 100; },
      [](RunControl& run) { run.request_stop(); });
  CHECK(slow.report.stopped);
  slow.check_all_came(slow.report.books.received / 10);
}

TEST_CASE("an abort, or an exception on either side, leaves nothing on disk and nobody waiting") {
  SlowRun aborted;
  aborted.run(
      endless_feed, [](const EdgeFigures& figures) { return figures.disk_messages > 100; },
      [](RunControl& run) { run.abort(); });
  CHECK(aborted.report.exit_code == exit_abort);
  CHECK(aborted.report.still_running.empty());
  aborted.check_nothing_is_left();

  const auto stop = [](RunControl& run) { run.request_stop(); };
  const auto fail = [](RunControl&) { throw std::runtime_error("the reader fails"); };
  const std::pair<const char*, std::function<void(RunControl&)>> failures[] = {
      {"endless: true}\n  last: {throw_in_flush: true, ", stop},
      {"endless: true}\n  last: {", fail},
      {"messages: 500, throw_at: 400}\n  last: {", {}}};
  for (const auto& failure : failures) {
    const auto& [settings, then] = failure;
    CAPTURE(failure.first);
    SlowRun failed;
    failed.run(
        fmt::format("gadgets:\n  feed: {{use: count, {}use: collect, from: feed, edge: {{policy: spill, bytes: 3000, "
                    "spill_folder: FOLDER}}}}\n",
                    settings),
        [](const EdgeFigures& figures) { return figures.disk_messages > 10; }, then);
    CHECK(failed.report.exit_code == exit_run);
    failed.check_nothing_is_left();
  }
}

TEST_CASE("a disk that is full ends the run with an error that says where, and what to do") {
  SlowRun slow;
  {
    const FullDisk disk(65'536);
    slow.run(endless_feed, [](const EdgeFigures&) { return false; });
  }
  CHECK(slow.report.exit_code == exit_run);
  REQUIRE(slow.report.errors.size() == 1);
  CHECK(
      slow.report.errors[0].text() ==
      "test.yaml:4:30: gadget 'last': the edge feed -> last cannot keep messages on disk: cannot write an unnamed file "
      "in " +
          slow.folder.path.string() +
          ": File too large: set spill_folder of its 'edge' to a larger disk, or disk_bytes to what this one has room "
          "for, from which on the writer is held back");
  slow.check_nothing_is_left();
}

TEST_CASE("a folder that takes no file is an error before data flow") {
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count}
  last: {use: collect, from: feed, edge: {policy: spill, spill_folder: /nowhere}}
)");
  CHECK(report.exit_code == exit_config);
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].what.find("cannot make a file in /nowhere: No such file or directory") != std::string::npos);
}

TEST_CASE("spill is refused where a payload cannot be put on disk, and its settings without it") {
  CHECK(problems_of("gadgets:\n  feed: {use: count}\n  x: {use: project, from: {events: feed, image: y}, edge: {image: "
                    "{policy: spill}}}\n  y: {use: update, from: x}\n") ==
        Lines{"pipe.yaml:3:76: gadgets.x: policy spill cannot put 'image' on disk: use block, and spill at an edge "
              "upstream whose payload can be put there"});
  for (const char* setting : {"bytes: 0", "disk_bytes: 5", "spill_folder: /tmp"})
    CHECK(problems_of(fmt::format("gadgets:\n  feed: {{use: count}}\n  x: {{use: collect, from: feed, edge: {{{}}}}}\n",
                                  setting)) ==
          Lines{"pipe.yaml:3:39: gadgets.x: disk_bytes, spill_folder and bytes: 0 are for an edge with policy: spill"});
}
// SPDX-License-Identifier: Apache-2.0
