// Live subsets by plain calls: what goes out when the projector is free, what is written down, and how that is
// followed.
#include <algorithm>
#include <fstream>
#include <memory>

#include "core/testing.hpp"
#include "gadgets/formats/update_log.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

// `count` events between two fixed points.
EventBatch batch_of(int count, double start_s, double duration_s, double exposure = 1) {
  EventBatch batch;
  batch.count = count;
  batch.start_s = start_s;
  batch.duration_s = duration_s;
  batch.exposure = exposure;
  for (int e = 0; e < 6; ++e) {
    batch.ends[e] = Buffer<float>(Memory::host, count);
    for (int i = 0; i < count; ++i) batch.ends[e][i] = e == 0 ? -100.0f : (e == 3 ? 100.0f : 0.0f);
  }
  return batch;
}

using Gadget = RegisteredGadgetTest<Subset>;

Gadget gadget(const TemporaryFolder& folder, const std::string& parameters) {
  return Gadget("live_subsets", "{backend: cpu, " + parameters + "}", folder.path());
}

// Subsets by their first number, replays negative.
std::vector<int> order_of(const Gadget& made) {
  std::vector<int> order;
  for (const auto& subset : made.out.all())
    order.push_back(subset->step.replayed ? -subset->step.subset : subset->step.subset);
  return order;
}

// Four seconds of 10 events each with two idle moments between.
void scan(Gadget& to) {
  for (int second = 0; second < 4; ++second) {
    to.send(batch_of(10, second, 1));
    to.idle();
    to.idle();
  }
}

}  // namespace

TEST_CASE("a subset goes out when the projector is free, older ones again while there is nothing new") {
  const TemporaryFolder folder;
  Gadget made = gadget(folder, "seconds: 1, iterations: 2");
  CHECK(!made.idle());
  made.send(batch_of(25, 0, 2.5));
  CHECK(made.out.empty());
  for (int call = 0; call < 4; ++call) CHECK(made.idle());
  CHECK(!made.idle());  // two updates for each
  made.finish();
  CHECK(order_of(made) == std::vector<int>{0, 1, 0, -1, 2, -2});
  std::uint64_t events = 0;
  for (const auto& subset : made.out.all()) {
    CHECK(subset->time_fraction == doctest::Approx(subset->step.subset == 2 ? 0.5 : 1));
    events += subset->event_count();
  }
  CHECK(events == 25);  // each once, whatever is replayed
  CHECK(made.out[5].step.update == 6);
}

TEST_CASE("an update stands for its decay-weighted time") {
  const TemporaryFolder folder;
  Gadget made = gadget(folder, "seconds: 1, iterations: 1");
  made.send(batch_of(10, 0, 0.5, 0.9));
  made.send(batch_of(10, 0.5, 0.5, 0.7));
  made.finish();
  CHECK(made.out.pointer(0)->time_fraction == doctest::Approx(0.8));
}

TEST_CASE("a subset goes on until it has its least events, and a rest with fewer is rejected and booked") {
  const TemporaryFolder folder;
  Gadget made = gadget(folder, "seconds: 1, least_events: 12, iterations: 1");
  made.send(batch_of(40, 0, 4));
  made.send(batch_of(5, 4, 1));
  made.finish();
  REQUIRE(made.out.size() == 2);
  CHECK(made.out[0].event_count() == 20);
  CHECK(made.out[1].time_fraction == doctest::Approx(2));
  CHECK(made.context.recorded().rejected_total() == 5);
}

TEST_CASE("subsets by seconds are that long, to an event, whatever the batches") {
  const TemporaryFolder folder;
  Gadget made = gadget(folder, "seconds: 1, iterations: 1");
  for (int k = 0; k < 200; ++k) made.send(batch_of(71, 0.137 * k, 0.137));
  made.finish();
  REQUIRE(made.out.size() == 28);
  for (std::size_t k = 0; k + 1 < made.out.size(); ++k)
    CHECK(made.out[k].time_fraction == doctest::Approx(1).epsilon(0.003));
}

TEST_CASE("final: offline begins anew and passes over all subsets in time order") {
  const TemporaryFolder folder;
  Gadget made = gadget(folder, "seconds: 1, iterations: 2, final: offline");
  scan(made);
  made.out.clear();
  made.finish();
  REQUIRE(made.out.size() == 9);
  CHECK(made.out[0].step.restart);
  CHECK(order_of(made) == std::vector<int>{0, 0, -1, -2, -3, 0, -1, -2, -3});
  CHECK(made.out[8].step.last);
  CHECK(made.out[4].step.ends_iteration);
  const UpdateLog log = read_update_log(folder.path());
  CHECK(log.has_ended);
  CHECK(log.updates[8].restart);
}

TEST_CASE("final: none and a stop leave the estimate as it is") {
  for (const bool stops : {false, true}) {
    const TemporaryFolder folder;
    Gadget made = gadget(folder, fmt::format("seconds: 1, iterations: 9, final: {}", stops ? "offline" : "none"));
    scan(made);
    const std::size_t live = made.out.size();
    made.send(batch_of(10, 4, 1));
    if (stops) made.context.stop();
    made.finish();
    CHECK(made.out.size() == live + 1);  // what came is used
    CHECK(made.context.figures().contains("final_left_out") == stops);
    CHECK(read_update_log(folder.path()).has_ended);
  }
}

TEST_CASE("events that no update can ask for any more are let go, unless all are wanted at the end") {
  for (const std::string final : {"none", "converged", "offline"}) {
    CAPTURE(final);
    const TemporaryFolder folder;
    Gadget made = gadget(folder, "seconds: 1, iterations: 2, window: 2, final: " + final);
    std::vector<std::weak_ptr<const EventBatch>> held;
    for (int second = 0; second < 8; ++second) {
      made.send(batch_of(10, second, 1));
      while (made.idle()) {
      }
      held.push_back(made.out.pointer(0)->batches.front());  // new ones go first
      made.out.clear();
    }
    // What is held: the window, or all.
    const auto there = std::ranges::count_if(held, [](const auto& batch) { return !batch.expired(); });
    CHECK(there == (final == "offline" ? 8 : 2));
    made.finish();
    CHECK(made.context.recorded().rejected_total() == 0);
  }
}

TEST_CASE("an order is followed to the same updates, at whatever speed the recording comes") {
  const TemporaryFolder folder, again;
  Gadget live = gadget(folder, "seconds: 1, iterations: 3");
  scan(live);
  live.finish();
  Gadget replay = gadget(again, "seconds: 1, iterations: 3, follow: " + folder.path().string());
  replay.send(batch_of(40, 0, 4));
  replay.finish();
  CHECK(order_of(replay) == order_of(live));
  CHECK(text_of(again / update_log_name) == text_of(folder / update_log_name));
}

TEST_CASE("an order or a checkpoint that cannot be written ends no scan") {
  const TemporaryFolder folder;
  Gadget made = gadget(folder, "seconds: 1, iterations: 2, order: nowhere/order.jsonl");
  scan(made);
  made.finish();
  CHECK(made.out.size() >= 8);
  CHECK(std::get<bool>(made.context.figures().at("order_broken")));
  RegisteredGadgetTest<void> checkpoint("checkpoint_writer", "{file: nowhere/a.tofc, every_s: 0}",
                                        folder.path().string());
  const auto image = std::make_shared<const Image>(Image::zeros(Grid::centred(2, 2, 2, {1, 1, 1})));
  for (int update = 1; update <= 2; ++update) checkpoint.send(Estimate{{.update = update}, image});
  CHECK(std::get<std::int64_t>(checkpoint.context.figures().at("failed")) == 2);
}

TEST_CASE("an order that has ended is followed to its end, and no further") {
  const TemporaryFolder folder, again;
  Gadget live = gadget(folder, "seconds: 1, iterations: 9, final: none");
  scan(live);
  live.finish();
  Gadget replay = gadget(again, "seconds: 1, iterations: 9, follow: " + folder.path().string());
  replay.send(batch_of(60, 0, 6));
  replay.finish();
  CHECK(order_of(replay) == order_of(live));
  CHECK(replay.context.recorded().rejected_total() == 20);
}

TEST_CASE("an order of another recording is refused") {
  const TemporaryFolder folder, again;
  Gadget live = gadget(folder, "seconds: 1, iterations: 3");
  scan(live);
  live.finish();
  Gadget fewer = gadget(again, "seconds: 1, follow: " + folder.path().string());
  fewer.send(batch_of(20, 0, 2));
  CHECK_THROWS_WITH(fewer.finish(), doctest::Contains("it is of another recording"));
  Gadget other = gadget(again, "seconds: 1, follow: " + folder.path().string());
  other.send(batch_of(44, 0, 4));
  CHECK_THROWS_WITH(other.idle(), doctest::Contains("update 1 of the order to follow is of 10 events"));
  CHECK_THROWS_WITH(gadget(again, "seconds: 1, follow: " + (again / "nothing").string()),
                    doctest::Contains("cannot read the order of updates"));
  CHECK_THROWS_WITH(gadget(again, "seconds: 1, follow: a, resume_from: b"),
                    doctest::Contains("set follow or resume_from"));
  CHECK_THROWS_WITH(gadget(again, "seconds: 1, events: 5"), doctest::Contains("exactly one of events and seconds"));
}

TEST_CASE("subsets that wait go together where the deadline is not met, and nothing is iterated over then") {
  const TemporaryFolder folder;
  Gadget made = gadget(folder, "seconds: 1, iterations: 5, final: none, deadline_ms: 1");
  const auto slowly = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    return made.idle();
  };
  made.send(batch_of(10, 0, 1));
  CHECK(made.idle());
  CHECK(slowly());  // the first does not count: a replay goes out
  for (int second = 1; second < 3; ++second) {
    made.send(batch_of(10, second, 1));
    CHECK(slowly());
  }
  CHECK(!slowly());  // both steps are taken now: no replay
  made.send(batch_of(30, 3, 3));
  CHECK(made.idle());
  CHECK(order_of(made) == std::vector<int>{0, 0, 1, 2, 3});
  CHECK(made.out[4].event_count() == 30);
  CHECK(made.out[4].time_fraction == doctest::Approx(3));
  const auto said = std::get<std::vector<std::string>>(made.context.figures().at("degradations"));
  REQUIRE(said.size() == 2);
  CHECK(said[0].find("no idle iterations: ") != std::string::npos);
  CHECK(said[1].find("larger subsets: ") != std::string::npos);
}
