// When a message's data entered the program: the first and last ingress of its origins, through merging and feedback.
#include "core/testing.hpp"
#include "gadgets.hpp"

using namespace tofstream;

namespace {

struct Tick {
  int value = 0;
};

struct SlowTicks {
  void run(Emit<Tick>& emit, std::stop_token) {
    for (int i = 0; i < 4; ++i) {
      emit({i});
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
};
TOFSTREAM_GADGET(SlowTicks, "test_slow_ticks", "Four numbers, one after the other");

struct LateTicks {
  void run(Emit<Tick>& emit, std::stop_token, Context& context) {
    const auto entered = std::chrono::steady_clock::now() - std::chrono::seconds(5);
    context.set_message({.ingress = entered, .last_ingress = entered});
    emit({1});
    context.set_message({});
    emit({1});
  }
};
TOFSTREAM_GADGET(LateTicks, "test_late_ticks", "A number that has waited for five seconds, and one that has not");

struct Pairs {
  void process(const Tick& tick, Emit<Tick>& emit) {
    if (tick.value % 2 == 1) emit(tick);
  }
};
TOFSTREAM_GADGET(Pairs, "test_pairs", "Every second number, which stems from two");

std::vector<MessageInfo>& seen_ingress() {
  static std::vector<MessageInfo> infos;
  return infos;
}

struct Witnessed {
  void process(const Tick&, Context& context) { seen_ingress().push_back(context.message()); }
};
TOFSTREAM_GADGET(Witnessed, "test_witnessed", "Notes when messages entered");

}  // namespace

TEST_CASE("a message knows when the first and the last of its data entered the program") {
  seen_ingress().clear();
  Engine engine(parse_pipeline(R"(
gadgets:
  ticks: {use: test_slow_ticks}
  pairs: {use: test_pairs, from: ticks}
  end:   {use: test_witnessed, from: pairs}
)",
                               "test.yaml"));
  REQUIRE(engine.run().exit_code == exit_ok);
  REQUIRE(seen_ingress().size() == 2);
  for (const MessageInfo& info : seen_ingress())
    CHECK(info.last_ingress - info.ingress >= std::chrono::milliseconds(5));
  CHECK(seen_ingress()[1].ingress > seen_ingress()[0].last_ingress);
}

TEST_CASE("a source that kept something says when it came") {
  seen_ingress().clear();
  const auto began = std::chrono::steady_clock::now();
  Engine engine(parse_pipeline("gadgets:\n  late: {use: test_late_ticks}\n  end: {use: test_witnessed, from: late}\n",
                               "test.yaml"));
  const RunReport report = engine.run();
  REQUIRE(report.exit_code == exit_ok);
  REQUIRE(seen_ingress().size() == 2);
  CHECK(seen_ingress()[0].ingress <= std::chrono::steady_clock::now() - std::chrono::seconds(5));
  CHECK(seen_ingress()[0].last_ingress == seen_ingress()[0].ingress);
  CHECK(seen_ingress()[1].ingress >= began);
  CHECK(report.latency.max_seconds >= 5);
}
// SPDX-License-Identifier: Apache-2.0
