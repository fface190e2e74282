// Runs that share something take turns: their order by the test's own clock, and with real threads.
#include <atomic>
#include <thread>

#include "gadgets.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

// A run that takes turns of one length, with a pause after each in which it does something else.
struct TurnTaker {
  double turn_s, pause_s;
  TurnOrder::Member member{};
  double asks_at = 0;
  bool is_waiting = false;
};

// Lets the runs take turns for so long, by a clock that jumps from event to event.
void simulate(TurnOrder& order, std::vector<TurnTaker>& runs, double seconds) {
  for (TurnTaker& run : runs) run.member = order.join();
  TurnTaker* holder = nullptr;
  double now = 0, ends_at = 0;
  while (now < seconds) {
    for (TurnTaker& run : runs) {
      if (&run == holder || run.is_waiting || run.asks_at > now) continue;
      order.ask(run.member, now);
      run.is_waiting = true;
    }
    const TurnOrder::Next next = order.next(now);
    double happens = holder ? ends_at : seconds;
    if (next.member) {
      holder = &*std::ranges::find(runs, *next.member, &TurnTaker::member);
      holder->is_waiting = false;
      order.begin(holder->member, now);
      ends_at = happens = now + holder->turn_s;
    }
    if (next.look_again) happens = std::min(happens, *next.look_again);
    for (const TurnTaker& run : runs)
      if (&run != holder && !run.is_waiting) happens = std::min(happens, run.asks_at);
    now = happens;
    if (holder && now >= ends_at) {
      order.end(holder->member, now);
      holder->asks_at = now + holder->pause_s;
      holder = nullptr;
    }
  }
}

}  // namespace

TEST_CASE("a run that is alone has each turn at once") {
  TurnOrder order;
  const auto alone = order.join();
  for (double now = 0; now < 10; now += 1) {
    order.ask(alone, now);
    REQUIRE(order.next(now).member == alone);
    order.begin(alone, now);
    CHECK_FALSE(order.next(now).member);
    order.end(alone, now + 0.5);
  }
  CHECK(order.used_s(alone) == approx(5));
}

TEST_CASE("two runs of very different turns get the same time") {
  struct Turns {
    double long_turn, short_turn, pause;
  };
  for (const Turns& turns : {Turns{0.5, 0.05, 0.01}, {1.0, 0.001, 0.0005}, {0.2, 0.19, 0.001}, {0.12, 0.05, 0.05}}) {
    const auto [long_turn, short_turn, pause] = turns;
    CAPTURE(turns.long_turn);
    CAPTURE(turns.short_turn);
    TurnOrder order;
    std::vector<TurnTaker> runs{{long_turn, pause}, {short_turn, pause}};
    simulate(order, runs, 100);
    const double a = order.used_s(runs[0].member), b = order.used_s(runs[1].member);
    CHECK(a / b == approx(1).epsilon(0.1));
    CHECK(a + b > 55);  // only the pauses of the run with short turns are lost
  }
}

TEST_CASE("three runs get a third each, whoever came first") {
  TurnOrder order;
  std::vector<TurnTaker> runs{{0.3, 0.01}, {0.1, 0.02}, {0.03, 0.005}};
  simulate(order, runs, 100);
  const double all = order.used_s(runs[0].member) + order.used_s(runs[1].member) + order.used_s(runs[2].member);
  for (const TurnTaker& run : runs) CHECK(order.used_s(run.member) / all == approx(1.0 / 3).epsilon(0.1));
}

TEST_CASE("who comes later, or after a long pause, begins level and makes up for nothing") {
  TurnOrder order;
  const auto early = order.join();
  order.ask(early, 0);
  order.begin(early, 0);
  order.end(early, 100);
  const auto late = order.join();
  CHECK(order.used_s(late) == 100);
  // The early run is alone for long; the late one then has no claim to all of that time.
  order.ask(late, 100);
  order.begin(late, 100);
  order.end(late, 101);
  for (double now = 101; now < 201; now += 10) {
    order.ask(early, now);
    order.begin(early, now);
    order.end(early, now + 10);
  }
  order.ask(late, 201);
  CHECK(order.used_s(late) >= 190);
}

TEST_CASE("nobody waits for a run that has left, nor for one that does something else for long") {
  TurnOrder order;
  const auto a = order.join(), b = order.join();
  order.ask(a, 0);
  order.begin(a, 0);
  order.ask(b, 0.5);
  CHECK_FALSE(order.next(0.6).member);
  order.leave(a);  // with the turn
  CHECK(order.next(0.7).member == b);
  order.end(a, 0.8);  // too late to matter
  order.begin(b, 0.8);
  order.end(b, 1);
  order.ask(b, 50);
  CHECK(order.next(50).member == b);
}

TEST_CASE("threads take turns one at a time, and a stop ends the wait") {
  const auto turns = std::make_shared<Turns>();
  std::atomic<int> inside = 0, most = 0, done = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        Turns::Place place(turns);
        for (int i = 0; i < 200; ++i) {
          const auto turn = place.wait({});
          most = std::max(most.load(), ++inside);
          --inside;
          ++done;
        }
      });
  }
  CHECK(most == 1);
  CHECK(done == 800);

  Turns::Place holder(turns), waiter(turns);
  const auto held = holder.wait({});
  std::jthread waiting([&](const std::stop_token& stop) { static_cast<void>(waiter.wait(stop)); });
  waiting.request_stop();
  waiting.join();
}

TEST_CASE("who is behind and never comes back is waited for no longer than it was ever away") {
  const auto turns = std::make_shared<Turns>();
  Turns::Place behind(turns), ahead(turns);
  for (int i = 0; i < 5; ++i) const auto turn = behind.wait({});
  {
    const auto turn = ahead.wait({});
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  auto last = std::make_unique<Turn>(behind.wait({}));
  std::jthread waiting([&] { const auto turn = ahead.wait({}); });
  last.reset();
  waiting.join();
}

namespace {

// Works in turns of the run, and notes whether another run had a turn at the same time.
struct TakesTurns {
  struct Params {
    int messages = 1;
  };
  static constexpr auto params = describe(param<&Params::messages>("messages", "Turns that it takes"));
  void run(Emit<std::uint64_t>& emit, const Params& p, std::stop_token, Context& context) {
    for (int i = 0; i < p.messages; ++i) {
      {
        const auto turn = context.take_turn();
        if (++inside() > 1) overlapped() = true;
        std::this_thread::yield();
        --inside();
      }
      emit(static_cast<std::uint64_t>(i));
    }
  }
  static std::atomic<int>& inside() {
    static std::atomic<int> count = 0;
    return count;
  }
  static std::atomic<bool>& overlapped() {
    static std::atomic<bool> has = false;
    return has;
  }
};
TOFSTREAM_GADGET(TakesTurns, "takes_turns", "Works in turns of the run");

struct TakesNumbers {
  void process(const std::uint64_t&) {}
};
TOFSTREAM_GADGET(TakesNumbers, "takes_numbers", "Takes numbers");

}  // namespace

TEST_CASE("two engines in one process share by turns, each with its own folder, report and name in the log") {
  const test::TemporaryFolder folder;
  const auto turns = std::make_shared<Turns>();
  RunReport reports[2];
  {
    std::vector<std::jthread> threads;
    for (int k = 0; k < 2; ++k)
      threads.emplace_back([&, k] {
        Engine engine(parse_pipeline(fmt::format("gadgets:\n  work: {{use: takes_turns, messages: {}}}\n"
                                                 "  end: {{use: takes_numbers, from: work}}\n",
                                                 100 * (k + 1)),
                                     "turns"),
                      {.output_dir = folder.path / std::to_string(k), .name = std::to_string(k), .turns = turns});
        reports[k] = engine.run();
      });
  }
  CHECK_FALSE(TakesTurns::overlapped());
  for (int k = 0; k < 2; ++k) {
    CHECK(reports[k].exit_code == 0);
    CHECK(reports[k].gadgets[1].messages_in == static_cast<std::uint64_t>(100 * (k + 1)));
    CHECK(std::filesystem::exists(folder.path / std::to_string(k) / "run.json"));
  }
}
// SPDX-License-Identifier: Apache-2.0
