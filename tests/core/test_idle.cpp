// What a gadget does while no message waits for it and its reader is idle; and that it learns of a stop.
#include "gadgets.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

std::atomic<int> handed_on = 0, projected = 0;

// Passes batches on, and when idle the last one again, marked, at most `again` times.
struct Repeating {
  struct Params {
    int again = 3;
  };
  static constexpr auto params = describe(param<&Params::again>("again", "How often"));
  static constexpr bool own_thread = true;
  void process(Batch batch, Emit<Batch>& emit, const Params& p) {
    last_ = batch.number;
    left_ = p.again;
    emit(std::move(batch));
    ++handed_on;
  }
  bool idle(Emit<Batch>& emit) {
    if (left_ == 0) return false;
    --left_;
    emit(Batch{.number = 1000 + last_, .events = 0});
    return true;
  }
  void flush(Emit<Batch>&, Context& context) { context.report("was_stopped", context.stopping()); }

 private:
  std::uint64_t last_ = 0;
  int left_ = 0;
};
TOFSTREAM_GADGET(Repeating, "repeating", "Repeats itself while it may");

// Joins a batch with the picture that came back for the one before, as a projector does; only after so many have come.
struct SlowProject {
  struct Params {
    int wait_for = 0;
  };
  static constexpr auto params = describe(param<&Params::wait_for>("wait_for", "Batches that must have been given"));
  struct In {
    std::shared_ptr<const Batch> batch;
    std::shared_ptr<const Picture> picture;
    static constexpr auto inputs = ports(port<&In::batch>("events"), port<&In::picture>("image", feedback));
  };
  static constexpr bool own_thread = true;
  void process(const In& in, Emit<Batch>& emit, Context& context, const Params& p) {
    while (handed_on < p.wait_for && !context.cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    context.books().reconstructed(in.batch->events);
    if (Witness::current) Witness::current->saw("project", in.batch->number);
    ++projected;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    emit(Batch{.number = in.batch->number, .events = 0});
  }
};
TOFSTREAM_GADGET(SlowProject, "slow_project", "Takes its time");

// What another reader of the same batches makes of each, as scatter does for a projector.
struct Beside {
  struct In {
    std::shared_ptr<const Batch> batch;
    std::shared_ptr<const Picture> picture;
    static constexpr auto inputs = ports(port<&In::batch>("events"), port<&In::picture>("image", feedback));
  };
  static constexpr bool own_thread = true;
  void process(const In& in, Emit<Batch>& emit) { emit(Batch{.number = in.batch->number, .events = 0}); }
};
TOFSTREAM_GADGET(Beside, "beside", "Gives a batch for each");

struct ProjectWithMore {
  struct In {
    std::shared_ptr<const Batch> batch;
    std::shared_ptr<const Picture> picture;
    std::shared_ptr<const Batch> more;
    static constexpr auto inputs =
        ports(port<&In::batch>("events"), port<&In::picture>("image", feedback), port<&In::more>("more"));
  };
  static constexpr bool own_thread = true;
  void process(const In& in, Emit<Batch>& emit, Context& context) {
    context.books().reconstructed(in.batch->events);
    if (Witness::current) Witness::current->saw("project", in.batch->number);
    if (in.more->number != in.batch->number) throw std::runtime_error("what came beside is of another batch");
    emit(Batch{.number = in.batch->number, .events = 0});
  }
};
TOFSTREAM_GADGET(ProjectWithMore, "project_with_more", "Joins a batch with what was made of it beside");

struct Close {
  void start(Emit<Picture>& emit) { emit(Picture{}); }
  void process(const Batch&, Emit<Picture>& emit) { emit(Picture{}); }
};
TOFSTREAM_GADGET(Close, "close_cycle", "Sends a picture back");

bool was_stopped(const RunReport& report) {
  return std::get<bool>(gadget(report, "again").figures.at("was_stopped"));
}

}  // namespace

TEST_CASE("idle fills the time in which a cycle's reader waits, one message at a time, and comes after what is new") {
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 3, pause_ms: 60}
  again: {use: repeating, from: feed}
  projected: {use: slow_project, from: {events: again, image: estimate}}
  estimate: {use: close_cycle, from: projected}
)");
  REQUIRE_MESSAGE(report.exit_code == 0, (report.errors.empty() ? "" : report.errors[0].text()));
  std::uint64_t last_new = 0, repeated = 0, repeated_in_all = 0;
  std::vector<std::uint64_t> fresh;
  for (const std::uint64_t number : witness.numbers["project"]) {
    if (number < 1000) {
      fresh.push_back(last_new = number);
      repeated = 0;
    } else {
      CHECK(number == 1000 + last_new);
      CHECK(++repeated <= 3);
      ++repeated_in_all;
    }
  }
  CHECK(fresh == counted(3));
  CHECK(repeated_in_all >= 3);
  const auto edge = std::ranges::find(report.edges, "again -> projected.events", &EdgeReport::name);
  REQUIRE(edge != report.edges.end());
  CHECK(edge->figures.most_messages == 1);
  CHECK(!was_stopped(report));
}

TEST_CASE("idle fills the time too where the reader waits for what another reader makes of the same message") {
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 3, pause_ms: 60}
  again: {use: repeating, from: feed}
  beside: {use: beside, from: {events: again, image: estimate}}
  projected: {use: project_with_more, from: {events: again, image: estimate, more: beside}}
  estimate: {use: close_cycle, from: projected}
)");
  REQUIRE_MESSAGE(report.exit_code == 0, (report.errors.empty() ? "" : report.errors[0].text()));
  const auto& seen = witness.numbers["project"];
  CHECK(std::ranges::count_if(seen, [](std::uint64_t number) { return number < 1000; }) == 3);
  CHECK(std::ranges::count_if(seen, [](std::uint64_t number) { return number >= 1000; }) == 9);
}

TEST_CASE("idle is not called while the reader is behind") {
  Witness witness;
  handed_on = 0;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 20}
  again: {use: repeating, from: feed, again: 1}
  projected: {use: slow_project, from: {events: again, image: estimate}, wait_for: 20}
  estimate: {use: close_cycle, from: projected}
)");
  REQUIRE(report.exit_code == 0);
  auto seen = witness.numbers["project"];
  REQUIRE(seen.size() >= 20);
  seen.resize(20);
  CHECK(seen == counted(20));
}

TEST_CASE("a gadget that idles for ever ends with the stream, and learns that it was stopped") {
  Witness witness;
  projected = 0;
  Engine engine(parse_pipeline(R"(
gadgets:
  feed: {use: count, endless: true, pause_ms: 20}
  again: {use: repeating, from: feed, again: 1000000}
  projected: {use: slow_project, from: {events: again, image: estimate}}
  estimate: {use: close_cycle, from: projected}
)",
                               "test.yaml"));
  std::jthread stopper([&] {
    while (projected <= 20) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    engine.request_stop();
  });
  const RunReport report = engine.run();
  CHECK(report.exit_code == 0);
  CHECK(report.stopped);
  CHECK(was_stopped(report));
  CHECK(witness.numbers["project"].size() > 20);
}
// SPDX-License-Identifier: Apache-2.0
