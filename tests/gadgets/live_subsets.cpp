// Live subsets by plain calls: what goes out when the projector is free, how the order is recorded, and how it is
// followed.
#include <algorithm>
#include <fstream>
#include <memory>

#include "core/testing.hpp"
#include "gadgets/io/checkpoint.hpp"
#include "gadgets/io/update_log.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/types/scanner.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

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

using Gadget = RegisteredGadgetTest<EventSubset>;

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

// Four seconds of 10 events each, with two idle moments in between.
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
    CHECK(subset->time_fraction == approx(subset->step.subset == 2 ? 0.5 : 1));
    events += subset->event_count();
  }
  CHECK(events == 25);  // each once, whatever is replayed
  CHECK(made.out[5].step.update == 6);
}

TEST_CASE("the projector gets ready as soon as the first events say which scanner it is, before there is a subset") {
  const TemporaryFolder folder;
  Gadget made = gadget(folder, "seconds: 1, iterations: 1");
  const auto batch = [](double start_s) {
    EventBatch some = batch_of(10, start_s, 0.5);
    some.scanner = std::make_shared<const Scanner>();
    return some;
  };
  CHECK(!made.idle());
  made.send(batch(0));
  CHECK(made.idle());
  CHECK(!made.idle());  // once
  REQUIRE(made.out.size() == 1);
  CHECK(made.out[0].announced->scanner);
  CHECK(made.out[0].batches.empty());
  CHECK(made.out[0].event_count() == 0);
  CHECK(made.out[0].step.iteration == 0);
  made.send(batch(0.5));
  CHECK(made.idle());
  made.finish();
  REQUIRE(made.out.size() == 2);
  CHECK(made.out[1].step.update == 1);  // the announcement was not an update
  CHECK(read_update_log(folder.path()).updates.size() == 1);
}

TEST_CASE("an update stands for its decay-weighted time") {
  const TemporaryFolder folder;
  Gadget made = gadget(folder, "seconds: 1, iterations: 1");
  made.send(batch_of(10, 0, 0.5, 0.9));
  made.send(batch_of(10, 0.5, 0.5, 0.7));
  made.finish();
  CHECK(made.out.pointer(0)->time_fraction == approx(0.8));
}

TEST_CASE("a subset goes on until it has its least events, and a rest with fewer goes with the last one") {
  for (const auto& way : {std::pair(false, 2), {true, 2}, {false, 1}, {true, 1}}) {
    const bool is_used_before = way.first;
    const int iterations = way.second;  // CAPTURE is a lambda, and clang 14 lets none capture a structured binding
    CAPTURE(is_used_before);
    CAPTURE(iterations);
    const TemporaryFolder folder;
    Gadget made = gadget(folder, fmt::format("seconds: 1, least_events: 12, iterations: {}", iterations));
    made.send(batch_of(40, 0, 4));
    while (is_used_before && made.idle()) {
    }
    made.out.clear();
    made.send(batch_of(5, 4, 1));
    made.finish();
    // The last subset again with the rest; otherwise each new one once, then each again.
    REQUIRE(made.out.size() == (is_used_before ? 1 : 2 * static_cast<std::size_t>(iterations)));
    const EventSubset& last = *made.out.pointer(made.out.size() - 1);
    CHECK(last.step.subset == 1);
    CHECK(last.size() == 25);
    CHECK(last.time_fraction == approx(3));
    CHECK(last.event_count() == (is_used_before ? 5 : iterations == 1 ? 25 : 0));  // the others have been counted
    if (!is_used_before) CHECK(made.out[1].event_count() == 25);
    CHECK(made.context.recorded().rejected_total() == 0);
    CHECK(std::get<std::int64_t>(made.context.figures().at("subsets")) == 2);
  }
}

TEST_CASE(
    "passes over all after the scan, an order that is followed, and a resumed one have the rest with the last subset") {
  const TemporaryFolder folder, again;
  const std::string cut = "seconds: 1, least_events: 8, iterations: 2";
  Gadget live = gadget(folder, cut + ", final: offline");
  scan(live);
  live.send(batch_of(3, 4, 0.3));
  live.finish();
  const Gadget& made = live;
  const auto all = made.out.all();
  REQUIRE(all.size() == 8 + 1 + 1 + 8);  // live, the rest, the return to the start image, and the passes
  CHECK(all[8]->event_count() == 3);
  for (const std::size_t pass_end : {13, 17}) {
    CHECK(all[pass_end]->size() == 13);
    CHECK(all[pass_end]->step.ends_iteration);
    CHECK(all[pass_end]->event_count() == 0);
  }
  CHECK(all[17]->step.last);
  RegisteredGadgetTest<EventSubset> offline("subset_builder", "{backend: cpu, reference_s: 1, " + cut + "}");
  for (int second = 0; second < 4; ++second) offline.send(batch_of(10, second, 1));
  offline.send(batch_of(3, 4, 0.3));
  offline.finish();
  REQUIRE(offline.out.size() == 8);
  for (std::size_t u = 0; u < 8; ++u) {
    CHECK(offline.out[u].size() == all[u + 10]->size());
    CHECK(offline.out[u].batches.size() == all[u + 10]->batches.size());
    CHECK(offline.out[u].time_fraction == all[u + 10]->time_fraction);
    CHECK(offline.out[u].step.subset == all[u + 10]->step.subset);
  }

  Gadget replay = gadget(again, cut + ", follow: " + folder.path().string());
  replay.send(batch_of(43, 0, 4.3));
  replay.finish();
  CHECK(order_of(replay) == order_of(live));
  CHECK(replay.out[8].event_count() == 3);

  write_checkpoint(folder / checkpoint_name, {9, 1}, Image::zeros(Grid::centred(2, 2, 2, {1, 1, 1})));
  Gadget resumed = gadget(again, cut + ", final: offline, resume_from: " + folder.path().string());
  resumed.send(batch_of(43, 0, 4.3));
  resumed.finish();
  CHECK(resumed.out.size() == 9);
  CHECK(resumed.context.recorded().reconstructed == 43);  // by the updates that are in the checkpoint
}

TEST_CASE("subsets by seconds are that long, to an event, whatever the batches") {
  const TemporaryFolder folder;
  Gadget made = gadget(folder, "seconds: 1, iterations: 1");
  for (int k = 0; k < 200; ++k) made.send(batch_of(71, 0.137 * k, 0.137));
  made.finish();
  REQUIRE(made.out.size() == 28);
  for (std::size_t k = 0; k + 1 < made.out.size(); ++k) CHECK(made.out[k].time_fraction == approx(1).epsilon(0.003));
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
    CHECK(made.out.size() == live + 1);  // what has come is used
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
    made.send(batch_of(10, 8, 1));  // reports again what is kept
    CHECK(std::get<std::string>(made.context.figures().at("events_kept")) ==
          (final == "offline" ? "2.1 KiB in host memory" : "480 B in host memory"));
    made.finish();
    CHECK(made.context.recorded().rejected_total() == 0);
  }
}

TEST_CASE("events that are sent for the last time are let go with it, which a projector is told") {
  const TemporaryFolder folder;
  Gadget once = gadget(folder, "seconds: 1, iterations: 1");
  for (int second = 0; second < 3; ++second) {
    once.send(batch_of(10, second, 1));
    REQUIRE(once.idle());
    CHECK(once.out[static_cast<std::size_t>(second)].is_last_time);
    CHECK(once.out.pointer(static_cast<std::size_t>(second))->batches.front().use_count() == 1);
    CHECK(!once.idle());
  }
  once.finish();
  Gadget twice = gadget(folder, "seconds: 1, iterations: 2, window: 1");
  for (int second = 0; second < 4; ++second) twice.send(batch_of(10, second, 1));
  twice.finish();
  std::vector<int> updates(4), last_at(4);
  for (const auto& subset : twice.out.all()) {
    const auto k = static_cast<std::size_t>(subset->step.subset);
    ++updates[k];
    if (subset->is_last_time) last_at[k] = updates[k];
  }
  CHECK(updates == std::vector{2, 2, 2, 2});
  CHECK(last_at == std::vector{2, 2, 2, 0});  // the latest might take turns
  Gadget least = gadget(folder, "seconds: 1, iterations: 1, least_events: 1");
  for (int second = 0; second < 2; ++second) {
    least.send(batch_of(10, second, 1));
    REQUIRE(least.idle());
    CHECK_FALSE(least.out[static_cast<std::size_t>(second)].is_last_time);  // a rest may go with it
  }
  CHECK(least.out.pointer(0)->batches.front().use_count() == 1);  // but not with this one
  CHECK(least.out.pointer(1)->batches.front().use_count() == 2);
  least.finish();
  Gadget all = gadget(folder, "seconds: 1, iterations: 1, final: offline");
  all.send(batch_of(10, 0, 1));
  REQUIRE(all.idle());
  CHECK_FALSE(all.out[0].is_last_time);  // the offline passes want them
  all.finish();
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

TEST_CASE("an order of parts that are no subsets in time order is refused before the scan") {
  const TemporaryFolder folder, again;
  const auto refused = [&](const UpdateRecord& record, const std::string& words) {
    UpdateLogWriter(folder / update_log_name, std::vector{record}).end();
    CHECK_THROWS_WITH(gadget(again, "seconds: 1, follow: " + folder.path().string()),
                      doctest::Contains(("update 1 of the order is of " + words).c_str()));
  };
  refused({1, {{0, 1}, {2, 1}}, 20}, "parts that do not follow one another: follow it with data of the kind");
  refused({1, {{0, 1}}, 20, AsOf{50, 1}}, "data that grew during the scan");
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
  CHECK_THROWS_WITH(fewer.finish(), doctest::Contains("it belongs to another recording"));
  Gadget other = gadget(again, "seconds: 1, follow: " + folder.path().string());
  other.send(batch_of(44, 0, 4));
  CHECK_THROWS_WITH(other.idle(), doctest::Contains("update 1 of the order to follow has 10 events"));
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
  CHECK(made.out[4].time_fraction == approx(3));
  const auto said = std::get<std::vector<std::string>>(made.context.figures().at("degradations"));
  REQUIRE(said.size() == 2);
  CHECK(said[0].find("no idle iterations: ") != std::string::npos);
  CHECK(said[1].find("larger subsets: ") != std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
