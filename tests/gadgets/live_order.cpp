// The rule of a live reconstruction's order, and its deadline: plain calls, no pipeline.
#include "gadgets/subset/live_order.hpp"

#include <doctest/doctest.h>

#include "gadgets/subset/deadline.hpp"

using namespace tofstream;

namespace {

// Subsets come one by one, with so many idle moments after each; returns the order, then the missing updates at the
// end.
struct Scan {
  LiveOrder order;
  std::vector<int> live, at_end;

  Scan(LiveOrderSettings settings, int subsets, int idle) : order(settings) {
    for (int k = 0; k < subsets; ++k) {
      order.arrive();
      make(order.next_new(false), live);
      for (int i = 0; i < idle; ++i) make(order.next_replay(), live);
    }
    while (make(order.next_missing(), at_end)) {
    }
  }

  bool make(const std::optional<LiveUpdate>& update, std::vector<int>& to) {
    if (!update) return false;
    order.note(*update);
    to.push_back(update->first());
    return true;
  }
};

}  // namespace

TEST_CASE("new subsets go first, then all take turns, with no more updates than offline has") {
  const Scan scan({.iterations = 3, .window = 16}, 4, 10);
  CHECK(scan.live == std::vector<int>{0, 0, 0, 1, 0, 1, 2, 0, 1, 3, 2, 0});
  CHECK(scan.at_end == std::vector<int>{2, 3, 3});
  for (int k = 0; k < 4; ++k) CHECK(scan.order.updates_of(k) >= 3);
}

TEST_CASE("only the latest subsets take turns, and each has had its updates when it leaves them") {
  const int window = 16, subsets = 200, iterations = 3;
  const Scan scan({iterations, window}, subsets, 10);
  CHECK(scan.live.size() == static_cast<std::size_t>(subsets * iterations));
  // What is left at the end does not grow with the scan.
  CHECK(scan.at_end.size() <= 2 * window);
  for (int k = 0; k < subsets; ++k) {
    CAPTURE(k);
    CHECK(scan.order.updates_of(k) >= iterations);
    CHECK(scan.order.updates_of(k) <= (k < 2 * window ? 10 : iterations + 1));
  }
  // In a long scan no subset is used twice in a row.
  for (std::size_t i = 200; i < scan.live.size(); ++i) CHECK(scan.live[i] != scan.live[i - 1]);
}

TEST_CASE("without idle time each subset goes out once, and what is missing comes in rounds at the end") {
  const Scan scan({.iterations = 3, .window = 16}, 3, 0);
  CHECK(scan.live == std::vector<int>{0, 1, 2});
  CHECK(scan.at_end == std::vector<int>{0, 1, 2, 0, 1, 2});
}

TEST_CASE("subsets that wait can go together, and nothing is replayed while one waits") {
  LiveOrder order({.iterations = 2, .window = 4});
  for (int k = 0; k < 3; ++k) order.arrive();
  CHECK(!order.next_replay());
  CHECK(order.next_new(false) == one_stretch(0, 1, true));
  CHECK(order.next_new(true) == one_stretch(0, 3, true));
  order.note(one_stretch(0, 3, true));
  CHECK(!order.next_new(true));
  CHECK(order.next_replay() == one_stretch(0, 1, false));
  CHECK(order.updates_of(2) == 1);
}

TEST_CASE("a rest is used together with the subset before it, as often as that, and never alone") {
  for (const int before : {0, 1, 2, 3}) {  // updates of the last subset before the rest comes
    CAPTURE(before);
    LiveOrder order({.iterations = 2, .window = 4});
    for (int k = 0; k < 3; ++k) order.arrive();
    for (int k = 0; k < 2 + before; ++k) order.note(one_stretch(std::min(k, 2), 1, k <= 2));
    order.arrive_rest();
    CHECK(order.arrived() == 4);
    CHECK(order.in_a_pass() == 3);
    // If the last subset has had its turn, the rest waits for the next round, in time order.
    const LiveUpdate with_rest = one_stretch(2, 2, true);
    CHECK(order.next_new(true) == (before == 0 ? std::optional(with_rest) : std::nullopt));
    CHECK(order.next_new(false) == order.next_new(true));
    CHECK(order.next_rest() == with_rest);
    if (before == 0) order.note(with_rest);
    std::vector<LiveUpdate> missing;
    while (const auto update = order.next_missing()) {
      missing.push_back(*update);
      order.note(*update);
    }
    CHECK(missing ==
          std::vector<LiveUpdate>{one_stretch(0, 1, false), one_stretch(1, 1, false), one_stretch(2, 2, before > 0)});
    CHECK(!order.next_rest());
  }
}

TEST_CASE("a deadline that is missed takes one step after the other, each said once, and gives back what was early") {
  Deadline deadline(100, {Degrade::no_idle_iterations, Degrade::larger_subsets});
  CHECK(!deadline.note(90));
  CHECK(deadline.note(150) == "no idle iterations: 150 ms is over the deadline of 100 ms");
  CHECK(deadline.is_given_up(Degrade::no_idle_iterations));
  CHECK(!deadline.is_given_up(Degrade::larger_subsets));
  CHECK(deadline.note(200) == "larger subsets: 200 ms is over the deadline of 100 ms");
  CHECK(!deadline.note(300));  // nothing more to give up
  CHECK(deadline.missed() == 3);
  for (int i = 0; i < 7; ++i) CHECK(!deadline.note(40));
  CHECK(!deadline.note(60));  // not well below: the count starts again
  for (int i = 0; i < 7; ++i) CHECK(!deadline.note(40));
  CHECK(deadline.note(40) == "subsets as they come again: 40 ms is well below the deadline of 100 ms");
  CHECK(!deadline.is_given_up(Degrade::larger_subsets));
  CHECK(deadline.note(120)->starts_with("larger subsets: "));
  for (int i = 0; i < 15; ++i) CHECK(!deadline.note(10));  // twice as many, since that was too early
  CHECK(deadline.note(10));
}

TEST_CASE("without a deadline nothing is given up") {
  Deadline deadline(0, {Degrade::no_idle_iterations});
  CHECK(!deadline.note(1e9));
  CHECK(deadline.missed() == 0);
}
// SPDX-License-Identifier: Apache-2.0
