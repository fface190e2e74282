// The runtime's keys of a gadget: several writers, joins, optional inputs, edges of one input, faults, ports that
// depend on parameters.
#include "config_support.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

// A main input and one that may be left out.
struct MaskedBatch {
  struct In {
    std::shared_ptr<const Batch> events, mask;
    static constexpr auto inputs = ports(port<&In::events>("events"), port<&In::mask>("mask", optional));
  };
  void process(const In&) {}
};
TOFSTREAM_GADGET(MaskedBatch, "masked", "Takes events, and a mask where there is one");

struct Either {
  struct In {
    std::shared_ptr<const Batch> a, b;
    static constexpr auto inputs = ports(port<&In::a>("a", optional), port<&In::b>("b", optional));
  };
  void process(const In&) {}
};
TOFSTREAM_GADGET(Either, "either", "Takes one or both");

const char* const two_feeds = "gadgets:\n  f: {use: count}\n  g: {use: count}\n";

Lines problems_with(const std::string& line) {
  return problems_of(two_feeds + ("  " + line + "\n"));
}
Pipeline with(const std::string& line) {
  return parse_pipeline(two_feeds + ("  " + line + "\n"), "pipe.yaml");
}

// `shape_shifter` takes events or an image, as its parameter `takes` says.
struct ShapeShifter {
  struct Params {
    std::string takes = "events";
  };
  static constexpr auto params = describe(param<&Params::takes>("takes", "What it takes"));
  void process(const Batch&) {}
};

Registry with_shape_shifter() {
  Registry known;
  for (const GadgetInfo* info : registry().all()) known.add(*info);
  GadgetInfo shifter = describe_gadget<ShapeShifter>("shape_shifter", "Takes what it is told to");
  shifter.specialise = [shifter](const void* params) {
    const std::string& takes = static_cast<const ShapeShifter::Params*>(params)->takes;
    GadgetInfo special = shifter;
    if (takes == "image")
      special.inputs[0].payload = &payload_type<Picture>();
    else if (takes != "events")
      throw std::invalid_argument("takes must be events or image, not '" + takes + "'");
    return special;
  };
  known.add(std::move(shifter));
  return known;
}

}  // namespace

TEST_CASE("one input takes several writers, in the order written") {
  const Pipeline one = with("x: {use: collect, from: [g, f], merge: ordered}");
  CHECK(edge_names(one) == Lines{"g -> x", "f -> x"});
  CHECK(node(one, "x").merge == MergeOrder::ordered);
  const Pipeline named = with("x: {use: pair, from: {right: f, left: [f, g]}, join: sequence}");
  CHECK(edge_names(named) == Lines{"f -> x.right", "f -> x.left", "g -> x.left"});
  CHECK(node(named, "x").merge == MergeOrder::unordered);
  CHECK(node(named, "x").join == JoinMode::sequence);
  CHECK(named.edges[1].to_port == named.edges[2].to_port);
}

TEST_CASE("wrong merges and joins are told") {
  CHECK(problems_with("x: {use: collect, from: f, merge: ordered}") ==
        Lines{"pipe.yaml:4:37: gadgets.x: 'merge' is for an input with several writers: from: [A, B]"});
  CHECK(problems_with("x: {use: collect, from: f, join: sequence}") ==
        Lines{"pipe.yaml:4:36: gadgets.x: 'join' is for a gadget with several inputs, and collect has one"});
  CHECK(problems_with("x: {use: count, join: sequence}") ==
        Lines{"pipe.yaml:4:25: gadgets.x: 'join' is for a gadget with several inputs, and count has none"});
  CHECK(problems_with("x: {use: collect, from: [f, g], merge: orderd}") ==
        Lines{"pipe.yaml:4:42: gadgets.x.merge must be one of unordered, ordered, not 'orderd', did you mean "
              "'ordered'?"});
  CHECK(problems_with("x: {use: pair, from: {left: f, right: g}, join: seqence}") ==
        Lines{"pipe.yaml:4:51: gadgets.x.join must be one of in_order, sequence, not 'seqence', did you mean "
              "'sequence'?"});
  CHECK(problems_with("x: {use: collect, from: [f, f]}") ==
        Lines{"pipe.yaml:4:31: gadgets.x: one input reads 'f' twice: name it once"});
  CHECK(problems_with("x: {use: collect, from: []}") ==
        Lines{"pipe.yaml:4:27: gadgets.x: from is an empty list: name the gadgets to read from"});
  CHECK(problems_with("x: {use: collect, from: [f, h]}") ==
        Lines{"pipe.yaml:4:31: gadgets.x: from 'h': no gadget has this name, did you mean 'f' or 'g'?"});
  CHECK(problems_with("x: {use: pair, from: [f, g]}") ==
        Lines{"pipe.yaml:4:24: gadgets.x: pair takes several inputs: from: {left: NAME, right: NAME}"});
}

TEST_CASE("a feedback input takes one writer") {
  CHECK(problems_of("gadgets:\n  f: {use: count}\n  p: {use: project, from: {events: f, image: [u, v]}}\n"
                    "  u: {use: update, from: p}\n  v: {use: update, from: p}\n") ==
        Lines{"pipe.yaml:3:39: gadgets.p: 'image' is a feedback input and takes one writer, not 2"});
}

TEST_CASE("optional inputs may be left out, but not all of them") {
  CHECK(edge_names(with("x: {use: masked, from: {events: f}}")) == Lines{"f -> x.events"});
  CHECK(edge_names(with("x: {use: masked, from: f}")) == Lines{"f -> x.events"});
  CHECK(edge_names(with("x: {use: masked, from: {events: f, mask: g}}")) == Lines{"f -> x.events", "g -> x.mask"});
  CHECK(edge_names(with("x: {use: either, from: {b: f}}")) == Lines{"f -> x.b"});
  CHECK(problems_with("x: {use: masked, from: {mask: f}}") ==
        Lines{"pipe.yaml:4:26: gadgets.x: input 'events' (events) of masked is not connected: add it to 'from'"});
  CHECK(problems_with("x: {use: either}") ==
        Lines{"pipe.yaml:4:3: gadgets.x: 'from' is missing: name the gadget whose output either takes (a: events "
              "(optional), b: events (optional))"});
  CHECK(problems_with("x: {use: either, from: {}}") ==
        Lines{"pipe.yaml:4:3: gadgets.x: 'from' is missing: name the gadget whose output either takes (a: events "
              "(optional), b: events (optional))"});
}

TEST_CASE("the bounds of one input stand under its name, over those for all") {
  const Pipeline pipeline = with(
      "x: {use: pair, from: {left: f, right: [f, g]}, join: sequence, edge: {messages: 8, right: {messages: 1, bytes: "
      "77}}}");
  CHECK(edge(pipeline, "f -> x.left").settings.messages == 8);
  CHECK(edge(pipeline, "f -> x.left").settings.bytes == EdgeSettings{}.bytes);
  CHECK(edge(pipeline, "f -> x.right").settings.messages == 1);
  CHECK(edge(pipeline, "g -> x.right").settings.bytes == 77);
  CHECK(problems_with("x: {use: pair, from: {left: f, right: g}, edge: {rihgt: {messages: 1}, left: {mesages: 2}}}") ==
        Lines{"pipe.yaml:4:52: gadgets.x.edge: unknown key 'rihgt', did you mean 'right'?",
              "pipe.yaml:4:81: gadgets.x.edge.left: unknown key 'mesages', did you mean 'messages'?"});
  CHECK(problems_with("x: {use: pair, from: {left: f, right: g}, edge: {right: {bytes: 0}}}") ==
        Lines{"pipe.yaml:4:59: gadgets.x: disk_bytes, spill_folder and bytes: 0 are for an edge with policy: spill"});
}

TEST_CASE("faults are read with their limits") {
  const FaultSettings fault =
      node(with("x: {use: collect, from: f, fault: {throw_at: 5, delay_at: 0, delay_ms: 20}}"), "x").fault;
  CHECK(fault.throw_at == 5);
  CHECK(fault.delay_at == 0);
  CHECK(fault.delay_ms == 20);
  CHECK(!fault.drop_at);
  CHECK(problems_with("x: {use: collect, from: f, fault: {trow_at: 5}}") ==
        Lines{"pipe.yaml:4:38: gadgets.x.fault: unknown key 'trow_at', did you mean 'throw_at'?"});
  CHECK(problems_with("x: {use: collect, from: f, fault: {drop_at: -1, delay_ms: 1e9}}").size() == 2);
  CHECK(problems_with("x: {use: collect, from: f, fault: {delay_at: 3}}") ==
        Lines{"pipe.yaml:4:48: gadgets.x.fault: delay_at needs delay_ms, how long the delay lasts"});
  CHECK(problems_with("x: {use: collect, from: f, fault: {rank: 1, throw_at: 3}}") ==
        Lines{"pipe.yaml:4:44: gadgets.x.fault: collect has no ranks that share its work: leave out rank"});
  CHECK(problems_with("x: {use: collect, from: f, fault: {rank: 0, throw_at: 3}}").empty());
}

TEST_CASE("ports may depend on parameters") {
  const Registry known = with_shape_shifter();
  const Pipeline pipeline = parse_pipeline(
      "takes: image\ngadgets:\n  f: {use: count}\n  p: {use: project, from: {events: f, image: u}}\n"
      "  u: {use: update, from: p}\n  x: {use: shape_shifter, from: u}\n",
      "pipe.yaml", {}, known);
  const PipelineGadget& shifter = node(pipeline, "x");
  CHECK(shifter.info == shifter.specialised.get());
  CHECK(shifter.info->inputs[0].payload->name == "image");
  const auto told = [&](const char* takes) {
    return problems_of(
        std::string("gadgets:\n  f: {use: count}\n  x: {use: shape_shifter, from: f, takes: ") + takes + "}\n", {},
        "pipe.yaml", known);
  };
  CHECK(told("events").empty());
  CHECK(told("image") == Lines{"pipe.yaml:3:33: gadgets.x: 'f' (count) gives events, but shape_shifter takes image"});
  CHECK(told("noise") == Lines{"pipe.yaml:3:3: gadgets.x: takes must be events or image, not 'noise'"});
  CHECK(told("[1]") == Lines{"pipe.yaml:3:43: gadgets.x.takes must be a text, not a list of 1"});
}

TEST_CASE("a gadget may not take the runtime's names") {
  const auto refused = [](const auto& change) {
    Registry known;
    GadgetInfo info = *registry().find("pair");
    change(info);
    known.add(std::move(info));
    return known.problems();
  };
  CHECK(refused([](GadgetInfo& info) { info.inputs[0].name = "bytes"; }) ==
        Lines{"gadget 'pair': an input may not be named 'bytes', a setting of its edge"});
  CHECK(refused([](GadgetInfo& info) { info.name = "pipeline"; }) ==
        Lines{"a gadget may not be named 'pipeline': that is a nested pipeline"});
  CHECK(refused([](GadgetInfo& info) {
          ParamInfo fault = registry().find("count")->params[0];
          fault.name = "fault";
          info.params.push_back(std::move(fault));
        }).front() == "gadget 'pair': a parameter may not be named 'fault', a key of the runtime");
}
// SPDX-License-Identifier: Apache-2.0
