// Deliberate faults at one message: each happens as asked, and the run reports it.
#include "gadgets.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

// 20 batches of 10 events through a pure gadget, with a fault at one of the three.
RunReport run_with_fault(const std::string& who, const std::string& fault) {
  const auto at = [&](const std::string& name) { return name == who ? fmt::format(", fault: {{{}}}", fault) : ""; };
  return run_text(fmt::format(R"(
gadgets:
  feed: {{use: count, messages: 20{}}}
  way: {{use: pass, from: feed, parallel: 3{}}}
  last: {{use: collect, from: way{}}}
)",
                              at("feed"), at("way"), at("last")));
}

}  // namespace

TEST_CASE("a dropped message is booked as lost, and the rest arrives in order") {
  for (const std::string who : {"feed", "way", "last"}) {
    CAPTURE(who);
    Witness witness;
    const RunReport report = run_with_fault(who, "drop_at: 7");
    CHECK(report.exit_code == 0);
    CHECK(report.books.lost.at("fault: drop_at") == 10);
    CHECK(report.books.reconstructed == 190);
    std::vector<std::uint64_t> expected = counted(20);
    expected.erase(expected.begin() + 7);
    CHECK(witness.numbers["collect"] == expected);
  }
}

TEST_CASE("a message that comes twice is noticed by the books") {
  for (const std::string who : {"feed", "way", "last"}) {
    CAPTURE(who);
    Witness witness;
    const RunReport report = run_with_fault(who, "duplicate_at: 3");
    CHECK(report.exit_code == exit_run);
    REQUIRE(report.errors.size() == 1);
    CHECK(report.errors[0].what.find("200 events were received but 210 accounted for (10 too many)") !=
          std::string::npos);
    std::vector<std::uint64_t> expected = counted(20);
    expected.insert(expected.begin() + 3, 3);
    CHECK(witness.numbers["collect"] == expected);
  }
}

TEST_CASE("a gadget that is made to throw fails the run like one that throws by itself") {
  for (const std::string who : {"feed", "way", "last"}) {
    CAPTURE(who);
    const RunReport report = run_with_fault(who, "throw_at: 5");
    CHECK(report.exit_code == exit_run);
    REQUIRE(report.errors.size() == 1);
    CHECK(report.errors[0].gadget == who);
    CHECK(report.errors[0].what == "fault: throw_at 5, as asked for");
    if (who != "feed") CHECK(report.errors[0].message == 5);
  }
}

TEST_CASE("a delay holds one message up, or every one, and an abort does not wait for it") {
  const RunReport one = run_with_fault("last", "delay_at: 2, delay_ms: 50");
  CHECK(one.exit_code == 0);
  CHECK(gadget(one, "last").busy_seconds >= 0.05);
  const RunReport all = run_with_fault("way", "delay_ms: 5");
  CHECK(all.exit_code == 0);
  CHECK(gadget(all, "way").busy_seconds >= 20 * 0.005);

  Engine engine(
      parse_pipeline("gadgets:\n  feed: {use: count}\n  last: {use: collect, from: feed, fault: {delay_ms: "
                     "60000}}\n",
                     "test.yaml"));
  std::jthread aborter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    engine.abort();
  });
  const RunReport report = engine.run();
  CHECK(report.exit_code == exit_abort);
  CHECK(report.still_running.empty());
}
// SPDX-License-Identifier: Apache-2.0
