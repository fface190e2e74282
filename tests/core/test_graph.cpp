// Figures of a pipeline: the whole Mermaid and DOT of a small one with feedback, frames of nested ones, names that
// would be markup.
#include <nlohmann/json.hpp>

#include "config_support.hpp"
#include "core/describe/graph_text.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

const char* const osem = R"(pipeline: small
gadgets:
  feed:      {use: count}
  step:      {use: pass, from: feed, parallel: 4, fault: {drop_at: 3}}
  projected: {use: project, from: {events: step, image: estimate}, edge: {events: {messages: 1, bytes: 1048576}}}
  estimate:  {use: update, from: projected}
  page:      {use: show, from: estimate, edge: {policy: drop_oldest}}
)";

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("a pipeline with feedback as Mermaid") {
  CHECK(mermaid_text(parse_pipeline(osem, "osem.yaml")) == R"text(---
title: "small"
---
flowchart LR
  g0(["feed<br/>count, source"]):::source
  g1["step<br/>pass, pure<br/>4 in parallel<br/>with faults"]:::pure
  g2[["projected<br/>project, stateful"]]:::stateful
  g3[["estimate<br/>update, stateful"]]:::stateful
  g4(["page<br/>show, sink"]):::sink
  g0 -->|"events"| g1
  g1 -->|"events: events<br/>1 message, 1 MiB"| g2
  g3 -.->|"image: image (feedback)"| g2
  g2 -->|"image"| g3
  g3 -->|"image<br/>drop_oldest"| g4
  classDef source fill:#d8f0d8,stroke:#555,color:#111
  classDef pure fill:#f4f4f4,stroke:#555,color:#111
  classDef stateful fill:#dce8f8,stroke:#555,color:#111
  classDef sink fill:#f8e4d0,stroke:#555,color:#111
)text");
}

TEST_CASE("a pipeline with feedback as DOT") {
  CHECK(dot_text(parse_pipeline(osem, "osem.yaml")) == R"text(digraph "small" {
  label="small"
  labelloc=t
  rankdir=LR
  node [fontname="Helvetica"]
  edge [fontname="Helvetica", fontsize=10]
  fontname="Helvetica"
  g0 [label="feed\ncount, source", shape=box, style="rounded,filled", fillcolor="#d8f0d8"]
  g1 [label="step\npass, pure\n4 in parallel\nwith faults", shape=box, style=filled, fillcolor="#f4f4f4"]
  g2 [label="projected\nproject, stateful", shape=box, peripheries=2, style=filled, fillcolor="#dce8f8"]
  g3 [label="estimate\nupdate, stateful", shape=box, peripheries=2, style=filled, fillcolor="#dce8f8"]
  g4 [label="page\nshow, sink", shape=box, style="rounded,filled", fillcolor="#f8e4d0"]
  g0 -> g1 [label="events"]
  g1 -> g2 [label="events: events\n1 message, 1 MiB"]
  g3 -> g2 [label="image: image (feedback)", style=dashed, constraint=false]
  g2 -> g3 [label="image"]
  g3 -> g4 [label="image\ndrop_oldest"]
}
)text");
}

TEST_CASE("merges, joins, several outputs and optional inputs are written at their gadget or edge") {
  const Pipeline pipeline = parse_pipeline(R"(gadgets:
  feed:  {use: count}
  halves: {use: split, from: feed}
  all:   {use: pass, from: [halves.even, halves.odd], merge: ordered}
  pair:  {use: pair, from: {left: all, right: feed}, join: sequence}
  masked: {use: masking, from: {batch: feed, mask: all}}
  bare:  {use: masking, from: {batch: feed}}
  a: {use: collect, from: masked}
  b: {use: collect, from: bare}
  c: {use: collect, from: pair}
)",
                                           "merge.yaml");
  const std::string text = mermaid_text(pipeline);
  CHECK(text.find("\"all<br/>pass, pure<br/>merge: ordered\"") != std::string::npos);
  CHECK(text.find("<br/>join: sequence") != std::string::npos);
  CHECK(text.find("|\"even to events\"|") != std::string::npos);
  CHECK(text.find("|\"mask: events (optional)\"|") != std::string::npos);
  CHECK(count_of(text, "mask: not connected") == 1);
  const nlohmann::ordered_json json = graph_json(pipeline);
  CHECK(json["gadgets"].size() == 9);
  CHECK(json["edges"].size() == pipeline.edges.size());
  for (const auto& edge : json["edges"]) {
    CHECK(edge["messages"] == 64);
    CHECK(edge["policy"] == "block");
    CHECK(edge["optional"] == (edge["input"] == "mask"));
  }
}

TEST_CASE("nested pipelines are frames within frames") {
  const Files files;
  files.write("inner.yaml", "inputs: [in]\noutputs: {out: one}\ngadgets:\n  one: {use: pass, from: in}\n");
  files.write("outer.yaml",
              "inputs: [in]\noutputs: {out: a}\ngadgets:\n  a: {use: pipeline, file: inner.yaml, from: in}\n"
              "  b: {use: collect, from: in}\n");
  const Pipeline pipeline =
      load_pipeline(files.write("main.yaml",
                                "gadgets:\n  feed: {use: count}\n  x: {use: pipeline, file: outer.yaml, from: feed}\n"
                                "  end: {use: collect, from: x}\n"));
  const std::string mermaid = mermaid_text(pipeline), dot = dot_text(pipeline);
  CHECK(mermaid.find("  subgraph p1 [\"x\"]\n") != std::string::npos);
  CHECK(mermaid.find("    subgraph p2 [\"a\"]\n") != std::string::npos);
  CHECK(count_of(mermaid, "end\n") == 2);
  CHECK(dot.find("    subgraph cluster_2 {\n      label=\"a\"\n") != std::string::npos);
  CHECK(count_of(dot, "{") == count_of(dot, "}"));
  CHECK(graph_json(pipeline)["edges"][0]["to"].get<std::string>().starts_with("x/"));
}

TEST_CASE("a name that would be markup is only a name") {
  const Pipeline pipeline = parse_pipeline(
      "pipeline: 'a \"b\" <c>'\ngadgets:\n  '\"<b>#1;&\\`': {use: count}\n  end: {use: collect, from: "
      "'\"<b>#1;&\\`'}\n",
      "odd.yaml");
  const std::string mermaid = mermaid_text(pipeline), dot = dot_text(pipeline);
  CHECK(mermaid.find("g0([\"#quot;#60;b#62;#35;1;#38;\\#96;<br/>count, source\"])") != std::string::npos);
  CHECK(mermaid.find("title: \"a \\\"b\\\" <c>\"\n") != std::string::npos);
  CHECK(dot.find("g0 [label=\"\\\"<b>#1;&amp;\\\\`\\ncount, source\",") != std::string::npos);
  CHECK(dot.starts_with("digraph \"a \\\"b\\\" <c>\" {\n"));
}
// SPDX-License-Identifier: Apache-2.0
