// Gadgets that watch and steer the run that they are in.
#include <algorithm>
#include <utility>

#include "core/testing.hpp"
#include "gadgets.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

// Comes after `shifted`: at a batch it sets that gadget's offset, and stops the run when batches with the offset come.
struct Steersman {
  static constexpr std::uint64_t offset = 1'000'000;
  struct Params {
    std::uint64_t set_at = 10;
    std::uint64_t stop_at = 20;
  };
  static constexpr auto params = describe(param<&Params::set_at>("set_at", "Batch at which to set the offset"),
                                          param<&Params::stop_at>("stop_at", "Batch, with the offset, to stop at"));
  void process(const Batch& batch, const Params& p, Context& context) {
    RunControl* run = context.control();
    if (!run) return;
    if (batch.number == p.set_at)
      for (const Problem& problem : run->set_parameter("shifted", "by", Value::scalar("1000000")))
        Witness::current->note(problem.text());
    if (batch.number >= offset + p.stop_at && !std::exchange(has_stopped_, true)) {
      Witness::current->note(outcome(run->snapshot()));
      run->request_stop();
      Witness::current->note(outcome(run->snapshot()));
    }
  }

 private:
  bool has_stopped_ = false;
};
TOFSTREAM_GADGET(Steersman, "steersman", "Sets another gadget's parameter, then stops the run");

// Asks for figures without pause on a thread of its own, until it is destroyed.
struct Watchman {
  explicit Watchman(Context& context) {
    RunControl* run = context.control();
    if (!run) throw std::invalid_argument("watchman needs a run");
    watch_ = std::jthread([run](const std::stop_token& stop) {
      std::uint64_t before = 0;
      while (!stop.stop_requested()) {
        const RunReport report = run->snapshot();
        REQUIRE(report.gadgets.size() == run->pipeline().gadgets.size());
        REQUIRE(report.gadgets[0].messages_out >= before);
        before = report.gadgets[0].messages_out;
        REQUIRE(run->live_parameters().size() == 1);
      }
    });
  }
  void process(const Batch&) {}

 private:
  std::jthread watch_;
};
TOFSTREAM_GADGET(Watchman, "watchman", "Watches the run from a thread of its own");

class FakeRun final : public RunControl {
 public:
  const Pipeline& pipeline() const override { return pipeline_; }
  RunReport snapshot() const override { return {}; }
  std::vector<LiveParameter> live_parameters() const override { return {}; }
  std::vector<Problem> set_parameter(std::string_view gadget, std::string_view parameter, const Value& value) override {
    said.push_back(fmt::format("{}.{}={}", gadget, parameter, value.text));
    return {};
  }
  void request_stop() override { said.emplace_back("stop"); }
  void abort() override { said.emplace_back("abort"); }
  void fail(RunError error) override { said.push_back(error.what); }

  std::vector<std::string> said;

 private:
  Pipeline pipeline_;
};

}  // namespace

TEST_CASE("a gadget sets another's live parameter, and stops the run that it is in") {
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, endless: true, pause_ms: 0.1}
  shifted: {use: offset, from: feed}
  last: {use: collect, from: shifted}
  helm: {use: steersman, from: shifted}
)");
  CHECK(report.exit_code == 0);
  CHECK(report.stopped);
  CHECK(outcome(report) == "stopped");
  // The end may reach the sink before the gadget that asked for it looks again.
  REQUIRE(witness.notes.size() == 3);
  CHECK(witness.notes[0] == "running");
  CHECK(std::ranges::count(witness.notes, "stopping") == 1);
  CHECK(std::ranges::count(witness.notes, "flush collect") == 1);
  REQUIRE(report.changes.size() == 1);
  CHECK(report.changes[0].gadget == "shifted");
  const std::vector<std::uint64_t>& seen = witness.numbers["collect"];
  REQUIRE(seen.size() > 20);
  CHECK(seen.front() == 0);
  CHECK(seen.back() == 1'000'000 + seen.size() - 1);
  CHECK(report.books.balanced());
}

TEST_CASE("figures can be asked for from the construction of a gadget to its destruction") {
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 300, pause_ms: 0.05}
  shifted: {use: offset, from: feed}
  last: {use: collect, from: shifted}
  watch: {use: watchman, from: feed}
)");
  CHECK(report.exit_code == 0);
  CHECK(witness.numbers["collect"] == counted(300));
}

TEST_CASE(
    "a run whose source waits for a sender is waiting, and says for whom; that time is neither busy nor the scan's") {
  Witness witness;
  Engine engine(parse_pipeline(R"(
gadgets:
  feed: {use: late_sender}
  last: {use: collect, from: feed}
)",
                               "test.yaml"));
  RunReport report;
  std::jthread running([&] { report = engine.run(); });
  RunReport now;
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  do now = engine.snapshot();
  while (now.phase != RunPhase::waiting && std::chrono::steady_clock::now() < patience);
  CHECK(outcome(now) == "waiting");
  CHECK(now.gadgets[0].waiting == "waiting for a sender at the door");
  CHECK(now.data_seconds == 0);
  CHECK(!now.gadgets[0].figures.contains("waiting"));
  running.join();
  CHECK(outcome(report) == "done");
  CHECK(report.gadgets[0].waiting.empty());
  CHECK(report.gadgets[0].busy_seconds > 0.09);
  CHECK(report.gadgets[0].busy_seconds <= report.seconds - 0.3);
  CHECK(report.data_seconds > 0);
  CHECK(report.data_seconds < report.seconds - 0.3);
}

TEST_CASE(
    "a source that goes on is busy in a snapshot, though its one call has not ended; where it waits for room it is "
    "not") {
  Witness witness;
  Engine engine(parse_pipeline(R"(
gadgets:
  feed: {use: count, endless: true, pause_ms: 5}
  last: {use: collect, from: feed}
)",
                               "test.yaml"));
  witness.on_sink = [&](std::uint64_t number) {
    if (number < 20) return;
    const RunReport now = engine.snapshot();
    CHECK(now.gadgets[0].busy_seconds > 0.05);
    CHECK(now.gadgets[0].busy_seconds <= now.seconds);
    engine.request_stop();
  };
  CHECK(engine.run().exit_code == 0);
}

TEST_CASE("a run says where it stands: preparing, running, over") {
  Witness witness;
  Engine engine(parse_pipeline(R"(
gadgets:
  feed: {use: count, messages: 3}
  last: {use: collect, from: feed}
)",
                               "test.yaml"));
  CHECK(outcome(engine.snapshot()) == "preparing");
  CHECK(engine.snapshot().seconds == 0);
  witness.on_sink = [&](std::uint64_t) {
    const RunReport now = engine.snapshot();
    CHECK(outcome(now) == "running");
    CHECK(now.seconds > 0);
    CHECK(now.books.received >= 10);
  };
  CHECK(outcome(engine.run()) == "done");
}

TEST_CASE("live parameters are listed with unit, limits and their present value") {
  Engine engine(parse_pipeline(R"(
gadgets:
  feed: {use: count}
  first: {use: offset, from: feed, by: 5}
  second: {use: offset, from: first}
  last: {use: collect, from: second}
)",
                               "test.yaml"));
  std::vector<LiveParameter> all = engine.control().live_parameters();
  REQUIRE(all.size() == 2);
  CHECK(all[0].gadget == "first");
  CHECK(all[0].info->name == "by");
  CHECK(all[0].info->rules.limits.lo == 0);
  CHECK(all[0].value.text == "5");
  CHECK(engine.set_parameter("second", "by", Value::scalar("7")).empty());
  CHECK(engine.set_parameter("second", "by", Value::scalar("-7")).size() == 1);
  all = engine.control().live_parameters();
  CHECK(all[0].value.text == "5");
  CHECK(all[1].value.text == "7");
}

TEST_CASE("without a run a gadget finds no control, and a test may give it one of its own") {
  GadgetTest<Steersman> alone;
  alone.send(Batch{.number = 10});
  CHECK(alone.context.control() == nullptr);
  FakeRun run;
  Witness witness;
  GadgetTest<Steersman> steered("{stop_at: 11}", ".", &run);
  steered.send(Batch{.number = 10});
  steered.send(Batch{.number = Steersman::offset + 11});
  CHECK(run.said == std::vector<std::string>{"shifted.by=1000000", "stop"});
}
// SPDX-License-Identifier: Apache-2.0
