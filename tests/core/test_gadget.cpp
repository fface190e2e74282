// The author's API: ports deduced from signatures, faults told at compile time, gadgets called with no runtime.
#include "core/testing.hpp"
#include "gadgets.hpp"

using namespace tofstream;
using detail::Fault;
using detail::find_fault;

namespace {

struct A {
  int x = 0;
};
struct B {
  int x = 0;
};
struct Unique {
  std::unique_ptr<int> x;
};

struct Window {
  struct Params {
    int low = 2;
  };
  static constexpr auto params = describe(param<&Params::low>("low", live, "Lower limit"));
  std::optional<B> operator()(const A& a, const Params& p) const {
    return a.x >= p.low ? std::optional(B{a.x}) : std::nullopt;
  }
};

struct Sum {
  void process(A a) { sum_ += a.x; }
  void flush(Emit<B>& emit, Context& context) {
    context.books().written(3);
    context.report("sum", std::int64_t{sum_});
    emit(B{sum_});
  }

 private:
  int sum_ = 0;
};

struct Branch {
  struct Out {
    std::shared_ptr<const A> a;
    std::shared_ptr<const B> b;
    static constexpr auto outputs = ports(port<&Out::a>("a"), port<&Out::b>("b"));
  };
  void process(std::shared_ptr<const A> a, Emit<Out>& emit) { emit({a, std::make_shared<B>(B{a->x})}); }
};

struct NoFunction {};
struct TwoFunctions {
  void process(A) {}
  void run(Emit<A>&, std::stop_token) {}
};
struct NotConst {
  B operator()(A) { return {}; }
};
struct ReturnsNothing {
  void operator()(A) const {}
};
struct EmitsToo {
  B operator()(A, Emit<B>&) const { return {}; }
};
struct NoInput {
  void process() {}
};
struct TwoInputs {
  void process(A, B) {}
};
struct SourceWithInput {
  void run(A, Emit<B>&, std::stop_token) {}
};
struct SourceWithoutEmit {
  void run(std::stop_token) {}
};
struct SourceWithoutStop {
  void run(Emit<A>&) {}
};
struct Mutates {
  void process(A&) {}
};
struct TakesUnique {
  void process(Unique) {}
};
struct SeesUnique {
  void process(const Unique&) {}
};
struct FlushTakes {
  void process(A) {}
  void flush(A) {}
};
struct TwoOutputs {
  void process(A, Emit<A>&) {}
  void flush(Emit<B>&) {}
};
struct Undescribed {
  struct Params {
    int x = 0;
  };
  void process(A) {}
};
struct NeedsInt {
  explicit NeedsInt(int) {}
  void process(A) {}
};

static_assert(find_fault<Window>() == Fault::none);
static_assert(find_fault<Sum>() == Fault::none);
static_assert(find_fault<Branch>() == Fault::none);
static_assert(find_fault<SeesUnique>() == Fault::none);
static_assert(find_fault<NoFunction>() == Fault::no_function);
static_assert(find_fault<TwoFunctions>() == Fault::many_functions);
static_assert(find_fault<NotConst>() == Fault::call_not_const);
static_assert(find_fault<ReturnsNothing>() == Fault::call_returns_nothing);
static_assert(find_fault<EmitsToo>() == Fault::call_emits);
static_assert(find_fault<NoInput>() == Fault::no_input);
static_assert(find_fault<TwoInputs>() == Fault::many_inputs);
static_assert(find_fault<SourceWithInput>() == Fault::source_takes_input);
static_assert(find_fault<SourceWithoutEmit>() == Fault::source_without_emit);
static_assert(find_fault<SourceWithoutStop>() == Fault::source_without_stop);
static_assert(find_fault<Mutates>() == Fault::input_by_reference);
static_assert(find_fault<TakesUnique>() == Fault::input_not_copyable);
static_assert(find_fault<FlushTakes>() == Fault::flush_takes_input);
static_assert(find_fault<TwoOutputs>() == Fault::two_outputs);
static_assert(find_fault<Undescribed>() == Fault::params_undescribed);
static_assert(find_fault<NeedsInt>() == Fault::not_constructible);

}  // namespace

TEST_CASE("a pure gadget is called directly") {
  CHECK(Window{}(A{3}, {.low = 3})->x == 3);
  CHECK(!Window{}(A{2}, {.low = 3}));
}

TEST_CASE("a stateful gadget is tested with an Emit that collects and a Context that remembers") {
  CollectingEmit<B> emit;
  TestContext context;
  Sum sum;
  sum.process(A{3});
  sum.process(A{4});
  CHECK(emit.empty());
  sum.flush(emit, context);
  REQUIRE(emit.size() == 1);
  CHECK(emit[0].x == 7);
  CHECK(context.recorded().written == 3);
  CHECK(std::get<std::int64_t>(context.figures().at("sum")) == 7);
}

TEST_CASE("several outputs are collected by port") {
  CollectingEmit<Branch::Out> emit;
  const auto a = std::make_shared<const A>(A{5});
  Branch{}.process(a, emit);
  REQUIRE(emit.of<&Branch::Out::b>().size() == 1);
  CHECK(emit.of<&Branch::Out::b>()[0]->x == 5);
  CHECK(emit.of<&Branch::Out::a>()[0] == a);
}

TEST_CASE("kinds, ports and payload names follow from the signature") {
  const GadgetInfo window = describe_gadget<Window>("window", "");
  CHECK(window.kind == GadgetKind::pure);
  CHECK(window.inputs[0].payload->name.ends_with("A"));
  CHECK(window.outputs[0].payload->same_as(payload_type<B>()));
  CHECK(!window.own_thread);
  const GadgetInfo sum = describe_gadget<Sum>("sum", "");
  CHECK(sum.kind == GadgetKind::stateful);
  CHECK(sum.outputs[0].payload->same_as(payload_type<B>()));
  const GadgetInfo branch = describe_gadget<Branch>("branch", "");
  CHECK(branch.outputs[1].name == "b");
  CHECK(describe_gadget<SeesUnique>("sees", "").kind == GadgetKind::sink);
  const GadgetInfo* project = registry().find("project");
  REQUIRE(project);
  CHECK(project->inputs[1].is_feedback);
  CHECK(project->inputs[1].payload->name == "image");
  CHECK(registry().find("count")->own_thread);
  CHECK(registry().find("update")->has_start);
}

TEST_CASE("a payload taken by value is moved where nobody else reads it, and copied where somebody does") {
  struct Tracked {
    std::vector<int> data;
  };
  struct Probe : EmitTarget {
    void emit(std::size_t, Payload) override {}
  } nowhere;
  TestContext context;
  Payload payload = Payload::of(Tracked{{1, 2, 3}});
  const int* original = static_cast<const Tracked*>(payload.data.get())->data.data();
  struct Spy {
    static const int*& seen() {
      static const int* pointer = nullptr;
      return pointer;
    }
    void process(Tracked t) { seen() = t.data.data(); }
  };
  const auto params = std::make_shared<detail::NoParams>();
  const auto spy = describe_gadget<Spy>("spy", "").construct(params, context);
  Payload shared = payload;
  shared.movable = false;
  spy->process({&shared, 1}, nowhere, context, params.get());
  CHECK(Spy::seen() != original);
  spy->process({&payload, 1}, nowhere, context, params.get());
  CHECK(Spy::seen() == original);
}

namespace {

struct Exposure {
  int value = 0;  // 0: an announcement
  bool is_announcement() const { return value == 0; }
};

struct Brighten {
  Exposure operator()(const Exposure& picture) const { return {10 / picture.value}; }
};
struct Measure {
  B operator()(const Exposure& picture) const { return {10 / picture.value}; }
};
struct WithExposure {
  std::shared_ptr<const A> a;
  std::shared_ptr<const Exposure> picture;
  static constexpr auto inputs = ports(port<&WithExposure::a>("a"), port<&WithExposure::picture>("picture"));
};
struct Expecting : WithExposure {
  static constexpr bool takes_announcements = true;
  static constexpr auto inputs = ports(port<&Expecting::a>("a"), port<&Expecting::picture>("picture"));
};
template <class Inputs>
struct Compare {
  void process(Inputs in, Emit<B>& emit) { emit(B{in.picture->value}); }
};

}  // namespace

TEST_CASE("an announcement passes by gadgets whose authors know nothing of it") {
  GadgetTest<Brighten> same;
  same.send(Exposure{0});
  same.send(Exposure{5});
  REQUIRE(same.out.size() == 2);
  CHECK(same.out[0].is_announcement());
  CHECK(same.out[1].value == 2);

  GadgetTest<Measure> other;
  other.send(Exposure{0});
  other.send(Exposure{5});
  REQUIRE(other.out.size() == 1);
  CHECK(other.out[0].x == 2);

  GadgetTest<Compare<WithExposure>> two;
  CHECK_THROWS_WITH(two.send(std::make_shared<const A>(), std::make_shared<const Exposure>()),
                    doctest::Contains("input picture only announces"));
  GadgetTest<Compare<Expecting>> expecting;
  expecting.send(std::make_shared<const A>(), std::make_shared<const Exposure>());
  CHECK(expecting.out.size() == 1);
}
// SPDX-License-Identifier: Apache-2.0
