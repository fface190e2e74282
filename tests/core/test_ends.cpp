// How a run ends: stop, abort, and an exception anywhere. It ends once, with the first cause, and never hangs.
#include <fstream>

#include <nlohmann/json.hpp>

#include "gadgets.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

nlohmann::json read_run_json(const TemporaryFolder& folder) {
  std::ifstream file(folder.path / "run.json");
  return nlohmann::json::parse(file);
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

}  // namespace

TEST_CASE("an exception in construction starts nothing, and every gadget that cannot be made is named") {
  TemporaryFolder folder;
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count}
  one: {use: collect, from: feed, throw_in_construct: true}
  two: {use: collect, from: feed, throw_in_construct: true}
)",
                                    {.output_dir = folder.path});
  CHECK(report.exit_code == exit_config);
  REQUIRE(report.errors.size() == 2);
  CHECK(report.errors[0].text() == "test.yaml:4:3: gadget 'one': cannot be made");
  CHECK(report.errors[1].text() == "test.yaml:5:3: gadget 'two': cannot be made");
  CHECK(witness.notes.empty());
  CHECK(gadget(report, "feed").messages_out == 0);
  CHECK(std::filesystem::is_empty(folder.path));
}

TEST_CASE("an exception in start, process, run or flush ends the run once, with gadget, place and message") {
  struct Case {
    const char* yaml;
    const char* text;
  };
  const Case cases[] = {
      {"gadgets:\n  feed: {use: count}\n"
       "  projected: {use: project, from: {events: feed, image: estimate}}\n"
       "  estimate: {use: failing_start, from: projected}\n",
       "test.yaml:4:3: gadget 'estimate': start fails"},
      {"gadgets:\n  feed: {use: count, endless: true, throw_at: 50}\n  last: {use: collect, from: feed}\n",
       "test.yaml:2:3: gadget 'feed': source fails"},
      {"gadgets:\n  feed: {use: count, endless: true}\n  a: {use: pass, from: feed, throw_at: 7}\n"
       "  last: {use: collect, from: a}\n",
       "test.yaml:3:3: gadget 'a' at message 7: pass fails"},
      {"gadgets:\n  feed: {use: count, endless: true}\n"
       "  a: {use: pass, from: feed, throw_at: 7, parallel: 4}\n  last: {use: collect, from: a, delay_ms: 1}\n",
       "test.yaml:3:3: gadget 'a' at message 7: pass fails"},
      {"gadgets:\n  feed: {use: count, endless: true}\n"
       "  a: {use: pass, from: feed, throw_at: 3, odd_exception: true}\n  last: {use: collect, from: a}\n",
       "test.yaml:3:3: gadget 'a' at message 3: an exception that is no std::exception: int"},
      {"gadgets:\n  feed: {use: count}\n  last: {use: collect, from: feed, throw_in_flush: true}\n",
       "test.yaml:3:3: gadget 'last': flush fails"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    TemporaryFolder folder;
    const RunReport report = run_text(c.yaml, {.output_dir = folder.path});
    CHECK(report.exit_code == exit_run);
    REQUIRE(report.errors.size() == 1);
    CHECK(report.errors[0].text() == c.text);
    const nlohmann::json json = read_run_json(folder);
    CHECK(json["exit_code"] == exit_run);
    CHECK(json["errors"].size() == 1);
    CHECK(names_in(folder.path) == std::vector<std::string>{"run.json"});
  }
}

TEST_CASE("after a failure nobody else is flushed") {
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count}
  bad: {use: pass, from: feed, throw_at: 3}
  last: {use: collect, from: bad, as: last}
  other: {use: blocking_collect, from: feed, as: other, delay_ms: 1}
)");
  CHECK(report.exit_code == exit_run);
  CHECK(witness.notes.empty());
}

TEST_CASE("flush runs in topological order") {
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count}
  many: {use: burst, from: feed}
  last: {use: collect, from: many, as: last, book: nothing}
  early: {use: collect, from: feed, as: early}
)");
  CHECK(report.exit_code == 0);
  CHECK(witness.numbers["last"].back() == 1000);  // burst's flush came before last's
  CHECK(witness.notes.size() == 2);
}

TEST_CASE("a stop drains what was sent, flushes and says so") {
  Witness witness;
  TemporaryFolder folder;
  Engine engine(parse_pipeline(R"(
gadgets:
  feed: {use: count, endless: true}
  a: {use: pass, from: feed, delay_ms: 0.2}
  last: {use: collect, from: a}
)",
                               "test.yaml"),
                {.output_dir = folder.path});
  witness.on_sink = [&](std::uint64_t number) {
    if (number == 10) engine.request_stop();
  };
  const RunReport report = engine.run();
  CHECK(report.exit_code == 0);
  CHECK(report.stopped);
  CHECK(!report.aborted);
  CHECK(report.books.balanced());
  const std::uint64_t sent = gadget(report, "feed").messages_out;
  CHECK(sent > 10);
  CHECK(witness.numbers["collect"] == counted(sent));
  CHECK(witness.notes == std::vector<std::string>{"flush collect"});
  CHECK(read_run_json(folder)["stopped"] == true);
}

TEST_CASE("a stop while sources of a join are at different places discards by the books") {
  Witness witness;
  Engine engine(parse_pipeline(R"(
gadgets:
  one: {use: count, endless: true}
  two: {use: count, endless: true, pause_ms: 0.3}
  both: {use: pair, from: {left: one, right: two}}
  last: {use: collect, from: both}
)",
                               "test.yaml"));
  witness.on_sink = [&](std::uint64_t number) {
    if (number == 5) engine.request_stop();
  };
  const RunReport report = engine.run();
  CHECK(report.stopped);
  // Two streams of events joined to one are not in balance, but nothing else is wrong.
  for (const RunError& error : report.errors) CHECK(error.what.starts_with("the books do not balance"));
  const std::uint64_t joined = witness.numbers["pair"].size();
  for (std::size_t i = 0; i < 2; ++i)
    CHECK(gadget(report, i == 0 ? "one" : "two").messages_out == joined + report.edges[i].figures.dropped_messages);
}

TEST_CASE("a stop that does not drain within its deadline fails and names who is in work") {
  Witness witness;
  Engine engine(parse_pipeline(R"(
gadgets:
  feed: {use: count, messages: 4}
  last: {use: stubborn, from: feed, hold_ms: 400}
)",
                               "test.yaml"),
                {.stop_deadline = std::chrono::milliseconds(50)});
  std::jthread stopper([&] {
    while (witness.in_process == 0) std::this_thread::yield();
    engine.request_stop();
  });
  const RunReport report = engine.run();
  CHECK(report.exit_code == exit_run);
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].what == "did not drain within 0.05 s of being stopped; in work: last");
  CHECK(report.still_running.empty());
}

TEST_CASE("an abort drops everything, names who was in work and exits 130") {
  Witness witness;
  TemporaryFolder folder;
  Engine engine(parse_pipeline(R"(
gadgets:
  feed: {use: count, endless: true}
  a: {use: pass, from: feed}
  last: {use: stubborn, from: a, hold_ms: 100}
  side: {use: collect, from: feed, book: nothing}
)",
                               "test.yaml"),
                {.output_dir = folder.path});
  std::jthread aborter([&] {
    while (witness.in_process == 0) std::this_thread::yield();
    engine.abort();
  });
  const RunReport report = engine.run();
  CHECK(report.exit_code == exit_abort);
  CHECK(report.aborted);
  CHECK(report.errors.empty());
  CHECK(std::ranges::find(report.running_at_cancel, "last") != report.running_at_cancel.end());
  CHECK(report.still_running.empty());
  CHECK(witness.in_process == 1);
  CHECK(witness.notes.empty());
  CHECK(read_run_json(folder)["outcome"] == "aborted");
}

TEST_CASE("a gadget that does not return after an abort is named, and the engine returns without it") {
  Witness witness;
  Engine engine(parse_pipeline(R"(
gadgets:
  feed: {use: count, endless: true}
  last: {use: stubborn, from: feed, hold_ms: 600}
)",
                               "test.yaml"),
                {.abort_grace = std::chrono::milliseconds(50)});
  std::jthread aborter([&] {
    while (witness.in_process == 0) std::this_thread::yield();
    engine.abort();
  });
  const RunReport report = engine.run();
  CHECK(report.exit_code == exit_abort);
  CHECK(report.still_running == std::vector<std::string>{"last"});
  std::this_thread::sleep_for(std::chrono::milliseconds(900));  // lets the abandoned thread end before the test
}

TEST_CASE("a stop or an abort before the run begins holds") {
  for (const bool abort : {false, true}) {
    Engine engine(parse_pipeline("gadgets:\n  feed: {use: count, endless: true}\n  last: {use: collect, from: feed}\n",
                                 "test.yaml"));
    if (abort)
      engine.abort();
    else
      engine.request_stop();
    const RunReport report = engine.run();
    CHECK(report.exit_code == (abort ? exit_abort : 0));
    CHECK(report.stopped == !abort);
  }
}

TEST_CASE("an output folder that cannot be written is an error before anything starts") {
  TemporaryFolder folder;
  std::ofstream(folder.path / "file") << "not a folder";
  const RunReport report = run_text("gadgets: {feed: {use: count}}", {.output_dir = folder.path / "file" / "sub"});
  CHECK(report.exit_code == exit_config);
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].what.find((folder.path / "file" / "sub").string()) != std::string::npos);
}

TEST_CASE("run.json holds the resolved pipeline, books, gadgets, edges, latency and versions") {
  TemporaryFolder folder;
  run_text(R"(
pipeline: small
messages: 12
gadgets:
  feed: {use: count}
  kept: {use: filter, from: feed}
  last: {use: collect, from: kept, edge: {messages: 9}}
)",
           {.output_dir = folder.path});
  const nlohmann::json json = read_run_json(folder);
  CHECK(json["pipeline"] == "small");
  CHECK(json["outcome"] == "done");
  CHECK(json["resolved"]["gadgets"]["feed"]["messages"] == 12);
  CHECK(json["resolved"]["gadgets"]["last"]["edge"]["messages"] == 9);
  CHECK(json["resolved"]["gadgets"]["last"]["book"] == "reconstructed");
  CHECK(json["books"]["received"] == 120);
  CHECK(json["books"]["balanced"] == true);
  CHECK(json["gadgets"]["kept"]["books"]["rejected"]["too soft"] == 10);
  CHECK(json["edges"][1]["edge"] == "kept -> last");
  CHECK(json["edges"][1]["messages"] == 10);
  CHECK(json["latency"]["messages"] == 10);
  CHECK(json["latency"]["p50_seconds"] <= json["latency"]["max_seconds"]);
  CHECK(json["versions"].contains("tofstream"));
  CHECK(json["host"]["cores"] >= 1);
}
// SPDX-License-Identifier: Apache-2.0
