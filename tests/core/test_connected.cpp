// Context::is_connected: which of a gadget's ports a pipeline connects, and a test.
#include "core/testing.hpp"
#include "gadgets.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

// Has an optional input and two outputs; notes which are connected, when it is made and at each message.
struct Branches {
  struct In {
    std::shared_ptr<const Batch> events, mask;
    static constexpr auto inputs = ports(port<&In::events>("events"), port<&In::mask>("mask", optional));
  };
  struct Out {
    std::shared_ptr<const Batch> low, high;
    static constexpr auto outputs = ports(port<&Out::low>("low"), port<&Out::high>("high"));
  };
  explicit Branches(Context& context) : found_(connected(context)) { context.report("made", found_); }
  void process(const In& in, Emit<Out>& emit, Context& context) {
    context.report("same_later", connected(context) == found_);
    Out out;
    if (context.is_connected("low")) out.low = in.events;
    if (context.is_connected("high")) out.high = in.events;
    emit(std::move(out));
  }

 private:
  static std::vector<std::string> connected(const Context& context) {
    std::vector<std::string> names;
    for (const char* port : {"events", "mask", "low", "high"})
      if (context.is_connected(port)) names.emplace_back(port);
    return names;
  }
  std::vector<std::string> found_;
};
TOFSTREAM_GADGET(Branches, "branches", "Says which of its ports are connected");

// One input, one output, neither with a name of its own; pure, so that each call has a context of its own.
struct Plain {
  Batch operator()(Batch batch, Context& context) const {
    context.report("is_fed", context.is_connected("in"));
    context.report("is_read", context.is_connected("out"));
    return batch;
  }
};
TOFSTREAM_GADGET(Plain, "plain", "Says whether it is read");

struct Mistaken {
  void process(const Batch&, Context& context) { context.is_connected("inn"); }
};
TOFSTREAM_GADGET(Mistaken, "mistaken", "Asks for a port that it does not have");

using Names = std::vector<std::string>;

Names made(const RunReport& report, const std::string& name) {
  return std::get<Names>(gadget(report, name).figures.at("made"));
}

}  // namespace

TEST_CASE("a gadget knows from its constructor on which optional inputs are fed and which outputs are read") {
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 3}
  open: {use: branches, from: {events: feed}}
  masked: {use: branches, from: {events: feed, mask: feed}}
  of_open: {use: collect, from: open.high, book: nothing}
  of_low: {use: collect, from: masked.low}
  of_high: {use: collect, from: masked.high, book: nothing}
)");
  REQUIRE(report.exit_code == 0);
  CHECK(made(report, "open") == Names{"events", "high"});
  CHECK(made(report, "masked") == Names{"events", "mask", "low", "high"});
  for (const char* name : {"open", "masked"}) CHECK(std::get<bool>(gadget(report, name).figures.at("same_later")));
  CHECK(gadget(report, "open").messages_out == 3);
  CHECK(gadget(report, "masked").messages_out == 6);
}

TEST_CASE("the only input is 'in', the only output 'out', which nobody need read") {
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 3}
  read: {use: plain, from: feed}
  unread: {use: plain, from: feed}
  end: {use: collect, from: read}
)");
  REQUIRE(report.errors.empty());
  CHECK(std::get<bool>(gadget(report, "read").figures.at("is_fed")));
  CHECK(std::get<bool>(gadget(report, "read").figures.at("is_read")));
  CHECK(std::get<bool>(gadget(report, "unread").figures.at("is_fed")));
  CHECK_FALSE(std::get<bool>(gadget(report, "unread").figures.at("is_read")));
}

TEST_CASE("a port that the gadget does not have is an error with the name that was meant") {
  const RunReport report =
      run_text("gadgets:\n  feed: {use: count, messages: 1}\n  end: {use: mistaken, from: feed}\n");
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].what == "end has no port 'inn', did you mean 'in'?");
  GadgetTest<Mistaken> test;
  CHECK_THROWS_WITH(test.send(Batch{}), doctest::Contains("did you mean 'in'?"));
}

TEST_CASE("in a direct call every port is connected but those that the test disconnects") {
  TestContext context;
  CHECK(context.is_connected("mask"));
  context.disconnect("mask");
  CHECK_FALSE(context.is_connected("mask"));
  CollectingEmit<Branches::Out> emit;
  const auto batch = std::make_shared<const Batch>();
  Branches branches(context);
  branches.process({batch, nullptr}, emit, context);
  CHECK(std::get<Names>(context.figures().at("made")) == Names{"events", "low", "high"});
  CHECK(emit.size() == 2);
  context.disconnect("low");
  branches.process({batch, nullptr}, emit, context);
  CHECK(emit.of<&Branches::Out::low>().size() == 1);
  CHECK(emit.of<&Branches::Out::high>().size() == 2);
}

TEST_CASE("a gadget that is made from YAML finds the ports disconnected that the test names") {
  GadgetTest<Branches> all;
  CHECK(std::get<Names>(all.context.figures().at("made")) == Names{"events", "mask", "low", "high"});
  GadgetTest<Branches> some("{}", ".", nullptr, {"mask", "low"});
  CHECK(std::get<Names>(some.context.figures().at("made")) == Names{"events", "high"});
  some.send(std::make_shared<const Batch>(), std::shared_ptr<const Batch>());
  CHECK(some.out.of<&Branches::Out::low>().empty());
  CHECK(some.out.of<&Branches::Out::high>().size() == 1);
  CHECK_THROWS_WITH(some.context.disconnect("hihg"), doctest::Contains("did you mean 'high'?"));
  CHECK_THROWS_AS(GadgetTest<Branches>("{}", ".", nullptr, {"mask", "lwo"}), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
