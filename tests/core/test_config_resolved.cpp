// The resolved pipeline that run.json keeps: fed back, it gives the same pipeline.
#include <nlohmann/json.hpp>

#include "config_support.hpp"
#include "core/gadget/value_json.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

void check_same(const Pipeline& a, const Pipeline& b) {
  CHECK(a.name == b.name);
  REQUIRE(a.gadgets.size() == b.gadgets.size());
  for (std::size_t i = 0; i < a.gadgets.size(); ++i) {
    const PipelineGadget &x = a.gadgets[i], &y = b.gadgets[i];
    CHECK(x.name == y.name);
    CHECK(x.info->name == y.info->name);
    CHECK(to_json(x.resolved) == to_json(y.resolved));
    CHECK(x.parallel == y.parallel);
    CHECK(x.merge == y.merge);
    CHECK(x.join == y.join);
    CHECK(x.fault.throw_at == y.fault.throw_at);
    CHECK(x.fault.delay_at == y.fault.delay_at);
    CHECK(x.fault.delay_ms == y.fault.delay_ms);
  }
  REQUIRE(a.edges.size() == b.edges.size());
  for (std::size_t i = 0; i < a.edges.size(); ++i) {
    const PipelineEdge &x = a.edges[i], &y = b.edges[i];
    CHECK(x.name == y.name);
    CHECK(x.from == y.from);
    CHECK(x.from_port == y.from_port);
    CHECK(x.to == y.to);
    CHECK(x.to_port == y.to_port);
    CHECK(x.settings.policy == y.settings.policy);
    CHECK(x.settings.messages == y.settings.messages);
    CHECK(x.settings.bytes == y.settings.bytes);
    CHECK(x.is_feedback == y.is_feedback);
  }
  CHECK(to_json(a.resolved) == to_json(b.resolved));
}

void check_round_trip(const Pipeline& pipeline) {
  check_same(pipeline, parse_pipeline(to_json(pipeline.resolved).dump(2), "resolved.json"));
}

}  // namespace

TEST_CASE("a resolved pipeline gives itself: merges, joins, faults, edges, ports, feedback") {
  check_round_trip(parse_pipeline(R"(
pipeline: everything
delay_ms: 2
variables: {n: 12}
gadgets:
  last:   {use: pair, from: {right: [a, branch.odd], left: b}, join: sequence, merge: ordered, edge: {right: {messages: 3}, bytes: 4096}}
  feed:   {use: count, messages: "${n}", path: "7"}
  a:      {use: pass, from: feed, parallel: 8, fault: {throw_at: 3, delay_ms: 0.5}}
  b:      {use: pass, from: [a, feed], merge: ordered}
  branch: {use: split, from: b}
  even:   {use: collect, from: branch.even, edge: {policy: drop_oldest}, as: "true"}
  p:      {use: project, from: {image: u, events: feed}}
  u:      {use: update, from: p}
)",
                                  "pipe.yaml"));
}

TEST_CASE("a resolved pipeline gives itself: nested ones are in place") {
  const Files files;
  files.write("inner.yaml", "inputs: [in]\noutputs: {out: p}\ngadgets:\n  p: {use: pass, from: in, delay_ms: 1}\n");
  const Pipeline pipeline = parse_pipeline(
      "gadgets:\n  feed: {use: count}\n  x: {use: pipeline, file: inner.yaml, from: feed}\n  y: {use: collect, from: "
      "x}\n",
      files.at("main.yaml"));
  check_round_trip(pipeline);
  const Pipeline changed =
      parse_pipeline(to_json(pipeline.resolved).dump(), "resolved.json", {.sets = {"x/p.delay_ms=3"}});
  CHECK(resolved_text(changed, "x/p", "delay_ms") == "3");
}
// SPDX-License-Identifier: Apache-2.0
