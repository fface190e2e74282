// Parameters that change while the pipeline runs, and the report of a stalled pipeline.
#include <condition_variable>
#include <utility>

#include "gadgets.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

std::string joined(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) text += problem.text() + "\n";
  return text;
}

constexpr const char* pipeline = R"(
gadgets:
  feed: {use: count, endless: true, pause_ms: 0.1}
  first: {use: offset, from: feed, parallel: 2}
  second: {use: keeping_offset, from: first}
  last: {use: collect, from: second}
)";

}  // namespace

TEST_CASE("a live parameter holds from some message on, in pure gadgets and in those that keep it") {
  Witness witness;
  Engine engine(parse_pipeline(pipeline, "test.yaml"));
  bool is_second_set = false;
  witness.on_sink = [&](std::uint64_t number) {
    if (number == 20) CHECK(joined(engine.set_parameter("first", "by", Value::scalar("1000000"))) == "");
    // How many messages were on their way when the first setting came is the machine's affair.
    if (number >= 1'000'050 && !std::exchange(is_second_set, true))
      CHECK(joined(engine.set_parameter("second", "by", Value::scalar("2000000"))) == "");
    if (number > 3'000'100) engine.request_stop();
  };
  const RunReport report = engine.run();
  CHECK(report.exit_code == 0);
  const std::vector<std::uint64_t>& seen = witness.numbers["collect"];
  for (std::size_t i = 0; i < seen.size(); ++i)
    REQUIRE(seen[i] % 1'000'000 == i);  // no message is lost or out of place
  CHECK(std::ranges::is_sorted(seen));  // and none is of an older setting
  REQUIRE(report.changes.size() == 2);
  CHECK(report.changes[0].gadget == "first");
  CHECK(report.changes[1].value.text == "2000000");
}

// Jobs of many quick calls are in flight when a setting comes, and one that sleeps in the middle ends long after later
// ones: its messages must not see a newer setting than theirs.
TEST_CASE(
    "a live parameter of a parallel gadget changes between two messages: all after the first that saw it do too") {
  constexpr std::uint64_t step = 1'000'000'000;
  constexpr std::uint64_t settings = 300;
  Witness witness;
  Engine engine(parse_pipeline(R"(
gadgets:
  feed: {use: count, endless: true}
  shifted: {use: shifting, from: feed, parallel: 8, edge: {messages: 256}}
  last: {use: collect, from: shifted, edge: {messages: 256}}
)",
                               "test.yaml"));
  std::atomic<bool> flows = false;
  witness.on_sink = [&](std::uint64_t number) {
    flows = true;
    flows.notify_one();
    if (number / step == settings) engine.request_stop();
  };
  std::jthread setter([&] {
    flows.wait(false);
    for (std::uint64_t i = 1; i <= settings; ++i) {
      engine.set_parameter("shifted", "by", Value::scalar(std::to_string(i * step)));
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  CHECK(engine.run().exit_code == 0);
  std::vector<std::uint64_t> values, places;
  for (const std::uint64_t number : witness.numbers["collect"]) {
    values.push_back(number / step);
    places.push_back(number % step);
  }
  CHECK(places == counted(places.size()));
  CHECK(std::ranges::is_sorted(values));
  CHECK(values.front() == 0);
  CHECK(values.back() == settings);
}

TEST_CASE("a live parameter that is set before the run holds from the first message on") {
  Witness witness;
  Engine engine(parse_pipeline(pipeline, "test.yaml", {.sets = {"feed.endless=false", "feed.messages=3"}}));
  CHECK(joined(engine.set_parameter("first", "by", Value::scalar("1000000"))) == "");
  CHECK(engine.run().exit_code == 0);
  CHECK(witness.numbers["collect"] == std::vector<std::uint64_t>{1'000'000, 1'000'001, 1'000'002});
}

TEST_CASE("a live parameter is checked as in a pipeline file, and what is wrong changes nothing") {
  Engine engine(parse_pipeline(pipeline, "test.yaml"));
  const auto said = [&](const char* who, const char* parameter, const char* value) {
    return joined(engine.set_parameter(who, parameter, Value::scalar(value)));
  };
  CHECK(said("frist", "by", "1") == "no gadget is called 'frist', did you mean 'first'?\n");
  CHECK(said("first", "bye", "1") == "first: offset has no parameter 'bye', did you mean 'by'?\n");
  CHECK(said("first", "by", "-1") == "first.by must be at least 0, not -1\n");
  CHECK(said("first", "by", "one") == "first.by must be an integer, not 'one'\n");
  CHECK(said("feed", "pause_ms", "1") ==
        "feed: 'pause_ms' of count cannot change while it runs; it has none that may\n");
  CHECK(said("first", "name", "x") == "first: 'name' of offset cannot change while it runs; these may: by\n");
  engine.request_stop();
  const RunReport report = engine.run();
  CHECK(report.changes.empty());
}

TEST_CASE("a pipeline that stands still is reported with who holds it up, and runs on") {
  EngineOptions options;
  options.stall_report = std::chrono::milliseconds(40);
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 8}
  last: {use: blocking_collect, from: feed, edge: {messages: 2}, fault: {delay_at: 1, delay_ms: 1000}}
)",
                                    options);
  CHECK(report.exit_code == 0);
  REQUIRE(!report.stalls.empty());
  CHECK(report.stalls.front().seconds >= 0.04);
  const auto says = [&](const char* words) {
    return std::ranges::any_of(report.stalls, [&](const Stall& s) { return s.state.find(words) != std::string::npos; });
  };
  CHECK(says("'last' has been in its own code for"));
  CHECK(says("'feed' is held up by the full edge feed -> last"));
}

TEST_CASE("who waits for the outside alone does not stand still") {
  EngineOptions options;
  options.stall_report = std::chrono::milliseconds(150);  // more than a start takes
  const RunReport idle =
      run_text("gadgets:\n  feed: {use: outside_wait}\n  last: {use: collect, from: feed}\n", options);
  CHECK(idle.exit_code == 0);
  CHECK(idle.stalls.empty());
  const RunReport busy = run_text(R"(
gadgets:
  feed: {use: outside_wait}
  last: {use: collect, from: feed}
  other: {use: count, messages: 2}
  held: {use: blocking_collect, from: other, fault: {delay_at: 0, delay_ms: 400}}
)",
                                  options);
  CHECK(!busy.stalls.empty());
}

TEST_CASE("who computes for long and says how far it is does not stand still") {
  EngineOptions options;
  options.stall_report = std::chrono::milliseconds(400);  // half of the time it takes
  const RunReport report =
      run_text("gadgets:\n  feed: {use: slow_start}\n  last: {use: collect, from: feed}\n", options);
  CHECK(report.exit_code == 0);
  CHECK(report.stalls.empty());
}

TEST_CASE("settings of one parameter within a second are one entry of the history, with the value that held last") {
  using std::chrono::milliseconds;
  ParameterHistory history;
  const auto set = [&](int at_ms, const char* gadget, const char* value) {
    history.add({std::chrono::system_clock::time_point(milliseconds(at_ms)), gadget, "by", Value::scalar(value)});
  };
  set(0, "first", "1");
  set(400, "second", "7");
  set(999, "first", "2");
  set(1000, "first", "3");  // a second after the first setting
  set(1001, "first", "4");
  const auto& changes = history.changes();
  REQUIRE(changes.size() == 3);
  CHECK(changes[0].value.text == "2");
  CHECK(changes[0].joined == 1);
  CHECK(changes[0].when.time_since_epoch() == milliseconds(999));
  CHECK(changes[0].first.time_since_epoch() == milliseconds(0));
  CHECK(changes[1].gadget == "second");
  CHECK(changes[1].joined == 0);
  CHECK(changes[2].value.text == "4");
}

TEST_CASE("a slider that is dragged for a day leaves a bounded history, in which nothing is uncounted") {
  ParameterHistory history(100);
  for (int i = 0; i < 100'000; ++i) {  // every 0.9 s; another parameter now and then
    const std::chrono::system_clock::time_point when(std::chrono::milliseconds(900) * i);
    history.add({when, "first", "by", Value::scalar(std::to_string(i))});
    if (i % 30'000 == 0) history.add({when, "second", "by", Value::scalar(std::to_string(i))});
    REQUIRE(history.changes().size() <= 100);
  }
  CHECK(history.changes().size() > 40);
  std::uint64_t first = 0, second = 0;
  std::string last;
  for (const ParameterChange& change : history.changes()) {
    (change.gadget == "first" ? first : second) += change.joined + 1;
    if (change.gadget == "first") last = change.value.text;
    CHECK(change.value.text == std::to_string(change.when.time_since_epoch() / std::chrono::milliseconds(900)));
  }
  CHECK(first == 100'000);
  CHECK(second == 4);
  CHECK(last == "99999");
  CHECK(std::ranges::is_sorted(history.changes(), {}, &ParameterChange::first));
}
// SPDX-License-Identifier: Apache-2.0
