// Context::cancelled(): a gadget that waits for something outside learns that the run is being ended.
#include "core/testing.hpp"
#include "gadgets.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

// A pipeline in which `waiter` waits without end while `bad` fails.
std::string with_waiter(const std::string& waiter) {
  return fmt::format(R"(
gadgets:
  feed: {{use: count, endless: true}}
  few: {{use: count, messages: 2}}
  bad: {{use: fail_when_waited, from: feed}}
  waiter: {{{}}}
)",
                     waiter);
}

void check_one_error(const std::string& waiter, const std::string& where) {
  CAPTURE(waiter);
  Witness witness;
  const RunReport report = run_text(with_waiter(waiter));
  CHECK(report.exit_code == exit_run);
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].text() == "test.yaml:5:3: gadget 'bad' at message 0: the first cause");
  CHECK(report.still_running.empty());
  CHECK(!witness.notes.empty());
  for (const std::string& note : witness.notes) CHECK(note == "cancelled in " + where);
}

}  // namespace

TEST_CASE("a gadget that waits is told when another fails, in every kind and function, and the first cause stays") {
  check_one_error("use: waiter, from: few", "process");
  check_one_error("use: waiter, from: few, in: flush", "flush");
  check_one_error("use: blocking_waiter, from: few", "process");
  check_one_error("use: blocking_waiter, from: few, in: flush", "flush");
  check_one_error("use: blocking_waiter, from: few, in: start", "start");  // data flow elsewhere meanwhile
  check_one_error("use: pure_waiter, from: few", "process");
  check_one_error("use: pure_waiter, from: few, parallel: 4", "process");
  check_one_error("use: waiting_source, in: run", "run");
}

TEST_CASE("a gadget that waits in start, or before it is made, is told of an abort") {
  // Data flow already while the last one waits in start, so nothing else in its pipeline may fail.
  for (const std::string& text :
       {with_waiter("use: waiter, in: start, from: few"), with_waiter("use: construct_waiter, from: few"),
        std::string("gadgets:\n  feed: {use: count}\n  waiter: {use: blocking_waiter, in: start, from: feed}\n")}) {
    CAPTURE(text);
    Witness witness;
    Engine engine(parse_pipeline(text, "test.yaml"));
    std::jthread aborter([&] {
      while (witness.in_process == 0) std::this_thread::yield();
      engine.abort();
    });
    const RunReport report = engine.run();
    CHECK(report.exit_code == exit_abort);
    CHECK(report.errors.empty());
    CHECK(report.still_running.empty());
    CHECK(witness.notes.size() == 1);
  }
}

TEST_CASE("who watches a run from outside fails it with an error, and gadgets in their own code are not waited for") {
  Witness witness;
  Engine engine(parse_pipeline("gadgets:\n  feed: {use: count}\n  waiter: {use: waiter, from: feed}\n", "test.yaml"),
                {.failure_grace = std::chrono::seconds(300)});
  std::jthread watcher([&] {
    while (witness.in_process == 0) std::this_thread::yield();
    engine.control().fail({"waiter", "the machine is on fire", {}, std::nullopt});
    engine.control().fail({"waiter", "and the roof", {}, std::nullopt});
    engine.abort();
  });
  const RunReport report = engine.run();
  CHECK(report.exit_code == exit_run);
  CHECK_FALSE(report.aborted);
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].what == "the machine is on fire");
}

TEST_CASE("a gadget that waits is told when the deadline of a stop is over, not at the stop") {
  Witness witness;
  Engine engine(
      parse_pipeline("gadgets:\n  feed: {use: count}\n  waiter: {use: blocking_waiter, from: feed}\n", "test.yaml"),
      {.stop_deadline = std::chrono::milliseconds(50)});
  std::jthread stopper([&] {
    while (witness.in_process == 0) std::this_thread::yield();
    engine.request_stop();
  });
  const RunReport report = engine.run();
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].what == "did not drain within 0.05 s of being stopped; in work: waiter");
  CHECK(report.still_running.empty());
}

TEST_CASE("in a gadget's own test nothing is cancelled until the test says so") {
  RegisteredGadgetTest<Batch> test("waiter", "{in: flush}");
  test.send(Batch{});
  CHECK(test.out.size() == 1);
  CHECK(!test.context.cancelled());
  test.context.cancel();
  CHECK(test.context.cancelled());
  CHECK_THROWS_WITH(test.finish(), "an error of its own");
}
// SPDX-License-Identifier: Apache-2.0
