// The harness that runs one gadget without a pipeline, for authors' tests.
#include "core/testing.hpp"
#include "gadgets.hpp"

using namespace tofstream;

namespace {

struct InA {
  int x = 0;
};
struct InB {
  int x = 0;
};

struct AtLeast {
  struct Params {
    int low = 2, fixed = 1;
  };
  static constexpr auto params = describe(param<&Params::low>("low", range(0, 9), live, "Lower limit"),
                                          param<&Params::fixed>("fixed", "Cannot be changed"));
  std::optional<InA> operator()(InA a, const Params& p) const { return a.x >= p.low ? std::optional(a) : std::nullopt; }
};

struct InPair {
  struct In {
    std::shared_ptr<const InA> a;
    std::shared_ptr<const InB> b;
    static constexpr auto inputs = ports(port<&In::a>("a"), port<&In::b>("b", optional));
  };
  void start(Emit<InB>& emit) { emit(InB{-1}); }
  void process(In in, Emit<InB>& emit) { emit(InB{in.a->x + (in.b ? in.b->x : 100)}); }
  void flush(Emit<InB>& emit, Context& context) {
    context.report("ended", true);
    emit(InB{-2});
  }
};

struct Ones {
  struct Params {
    int count = 0;
  };
  static constexpr auto params = describe(param<&Params::count>("count", required, "How many"));
  void run(Emit<InA>& emit, std::stop_token stop, const Params& p) {
    for (int i = 0; i < p.count && !stop.stop_requested(); ++i) emit(InA{1});
  }
};

}  // namespace

TEST_CASE("a gadget is made from YAML and fed message by message") {
  GadgetTest<AtLeast> test("{low: 3}");
  test.send(InA{2});
  CHECK(test.out.empty());
  test.send(InA{3});
  REQUIRE(test.out.size() == 1);
  CHECK(test.out[0].x == 3);
  const auto shared = std::make_shared<const InA>(InA{4});
  test.send(shared);
  CHECK(test.out.all().at(1)->x == 4);
}

TEST_CASE(
    "a live parameter changes from the next message on; another, or a wrong value, is refused and changes nothing") {
  GadgetTest<AtLeast> test;
  test.set("low", "5");
  test.send(InA{4});
  CHECK(test.out.empty());
  CHECK_THROWS_WITH(test.set("low", "10"), doctest::Contains("low must be in [0, 9], not 10"));
  CHECK_THROWS_WITH(test.set("fixed", "2"),
                    doctest::Contains("'fixed' of gadget cannot change while it runs; these may: low"));
  CHECK_THROWS_WITH(test.set("lwo", "2"), doctest::Contains("did you mean 'low'?"));
  test.send(InA{5});
  CHECK(test.out.size() == 1);
  test.set("low", "0");
  test.send(InA{0});
  CHECK(test.out.size() == 2);
}

TEST_CASE("several inputs are sent together, an optional one as null") {
  GadgetTest<InPair> test;
  test.start();
  test.send(std::make_shared<const InA>(InA{1}), std::make_shared<const InB>(InB{2}));
  test.send(std::make_shared<const InA>(InA{1}), std::shared_ptr<const InB>());
  test.finish();
  REQUIRE(test.out.size() == 4);
  CHECK(test.out[0].x == -1);
  CHECK(test.out[1].x == 3);
  CHECK(test.out[2].x == 101);
  CHECK(test.out[3].x == -2);
  CHECK(std::get<bool>(test.context.figures().at("ended")));
}

TEST_CASE("what a test sends is checked against the gadget's inputs") {
  GadgetTest<InPair> pair;
  CHECK_THROWS_WITH(pair.send(InA{1}), "gadget takes 2 inputs, and the test sends 1: send one payload for each");
  GadgetTest<AtLeast> one;
  CHECK_THROWS_WITH(one.send(InB{1}), doctest::Contains("input 'in' of gadget takes "));
  CHECK_THROWS_WITH(RegisteredGadgetTest<InB>("filter"),
                    doctest::Contains("filter gives events, and the test expects "));
}

TEST_CASE("a source runs to its end, or until it is asked to stop") {
  GadgetTest<Ones> test("{count: 4}");
  test.run();
  CHECK(test.out.size() == 4);
  std::stop_source stop;
  stop.request_stop();
  test.run(stop.get_token());
  CHECK(test.out.size() == 4);
  CHECK_THROWS_WITH(GadgetTest<Ones>(), doctest::Contains("count is missing"));
}

TEST_CASE("a gadget of the registry is tested by its name") {
  using Batch = test::Batch;
  CHECK_THROWS_WITH(RegisteredGadgetTest<Batch>("projcet"), "no gadget is called 'projcet', did you mean 'project'?");
}
// SPDX-License-Identifier: Apache-2.0
