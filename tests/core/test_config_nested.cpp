// A pipeline within a pipeline: expansion, names, variables and defaults, several levels, and wrong ones.
#include "config_support.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

const char* const step_yaml = R"(inputs: [events]
outputs: {all: last, even: branch.even}
variables: {delay: 0}
gadgets:
  first:  {use: pass, from: events, delay_ms: "${delay}"}
  last:   {use: pass, from: first}
  branch: {use: split, from: last}
)";

}  // namespace

TEST_CASE("a nested pipeline becomes its gadgets, read and named from outside") {
  const Files files;
  files.write("step.yaml", step_yaml);
  const std::string main = files.write("main.yaml", R"(
gadgets:
  feed: {use: count}
  step: {use: pipeline, file: step.yaml, from: feed, variables: {delay: 2}}
  all:  {use: collect, from: step.all}
  even: {use: collect, from: step.even}
)");
  const Pipeline pipeline = load_pipeline(main);
  CHECK(edge_names(pipeline) == Lines{"feed -> step/first", "step/first -> step/last", "step/last -> step/branch",
                                      "step/last -> all", "step/branch.even -> even"});
  CHECK(resolved_text(pipeline, "step/first", "delay_ms") == "2");
  CHECK(resolved_text(pipeline, "step/last", "delay_ms") == "0");
}

TEST_CASE("a nested pipeline runs as if its gadgets stood in its place") {
  const Files files;
  files.write("step.yaml", step_yaml);
  Witness witness;
  const std::string main = files.write("main.yaml", R"(
gadgets:
  feed: {use: count, messages: 6}
  step: {use: pipeline, file: step.yaml, from: feed}
  odd:  {use: collect, from: step.even, as: even, book: nothing}
  all:  {use: collect, from: step.all, as: all}
)");
  Engine engine(load_pipeline(main));
  const RunReport report = engine.run();
  CHECK(report.exit_code == exit_ok);
  CHECK(witness.numbers["all"] == counted(6));
  CHECK(witness.numbers["even"] == std::vector<std::uint64_t>{0, 2, 4});
  CHECK(gadget(report, "step/branch").messages_in == 6);
}

TEST_CASE("instances of one file, in several levels, with sets for each") {
  const Files files;
  files.write("inner.yaml",
              "inputs: [in]\noutputs: {out: p}\ngadgets:\n  p: {use: pass, from: in, delay_ms: "
              "\"${d:-1}\"}\n");
  files.write("outer.yaml",
              "inputs: [in]\noutputs: {out: b}\ngadgets:\n"
              "  a: {use: pipeline, file: inner.yaml, from: in}\n"
              "  b: {use: pipeline, file: inner.yaml, from: a, variables: {d: \"${twice:-3}\"}}\n");
  const char* yaml =
      "gadgets:\n  feed: {use: count}\n  x: {use: pipeline, file: outer.yaml, from: {in: feed}}\n"
      "  y: {use: pipeline, file: outer.yaml, from: x.out, variables: {twice: 5}}\n  end: {use: collect, from: y}\n";
  const std::string name = files.at("main.yaml");
  const Pipeline pipeline = parse_pipeline(
      yaml, name,
      {.sets = {"x/a/p.uneven=true", "y/b/p.edge.messages=9", "y.variables.twice=6", "x/variables.twice=7"}});
  CHECK(edge_names(pipeline) ==
        Lines{"feed -> x/a/p", "x/a/p -> x/b/p", "x/b/p -> y/a/p", "y/a/p -> y/b/p", "y/b/p -> end"});
  CHECK(resolved_text(pipeline, "x/a/p", "delay_ms") == "1");
  CHECK(resolved_text(pipeline, "x/b/p", "delay_ms") == "7");
  CHECK(resolved_text(pipeline, "y/b/p", "delay_ms") == "6");
  CHECK(resolved_text(pipeline, "x/a/p", "uneven") == "true");
  CHECK(resolved_text(pipeline, "y/a/p", "uneven") == "false");
  CHECK(edge(pipeline, "y/a/p -> y/b/p").settings.messages == 9);

  CHECK(problems_of(yaml, {.sets = {"x/a/q.delay_ms=1"}}, name) ==
        Lines{"--set x/a/q.delay_ms=1: no gadget of this pipeline declares 'q', did you mean 'p'?"});
  CHECK(problems_of(yaml, {.sets = {"feed/p.delay_ms=1"}}, name) ==
        Lines{"--set feed/p.delay_ms=1: 'feed' is no nested pipeline: write gadget.parameter=value"});
}

TEST_CASE("defaults reach nested gadgets unless their file sets its own; --backend and --input reach everywhere") {
  const Files files;
  files.write("plain.yaml", "inputs: [in]\noutputs: {out: p}\ngadgets:\n  p: {use: pass, from: in}\n");
  files.write("own.yaml", "inputs: [in]\noutputs: {out: p}\ndelay_ms: 2\ngadgets:\n  p: {use: pass, from: in}\n");
  files.write("source.yaml", "outputs: {out: feed}\ngadgets:\n  feed: {use: count}\n");
  const Pipeline pipeline = parse_pipeline(R"(delay_ms: 9
gadgets:
  s: {use: pipeline, file: source.yaml}
  a: {use: pipeline, file: plain.yaml, from: s}
  b: {use: pipeline, file: own.yaml, from: a}
  end: {use: collect, from: b}
)",
                                           files.at("main.yaml"), {.input = "x.dat"});
  CHECK(resolved_text(pipeline, "a/p", "delay_ms") == "9");
  CHECK(resolved_text(pipeline, "b/p", "delay_ms") == "2");
  CHECK(resolved_text(pipeline, "s/feed", "path") == "x.dat");
}

TEST_CASE("a nested pipeline may merge writers into its input and close a cycle outside") {
  const Files files;
  files.write("osem.yaml",
              "inputs: [events]\noutputs: {image: estimate}\ngadgets:\n"
              "  projected: {use: project, from: {events: events, image: estimate}}\n"
              "  estimate: {use: update, from: projected}\n");
  const Pipeline pipeline = parse_pipeline(R"(
gadgets:
  a: {use: count}
  b: {use: count}
  recon: {use: pipeline, file: osem.yaml, from: [a, b]}
  page: {use: show, from: recon}
)",
                                           files.at("main.yaml"));
  CHECK(edge_names(pipeline) == Lines{"a -> recon/projected.events", "b -> recon/projected.events",
                                      "recon/estimate -> recon/projected.image", "recon/projected -> recon/estimate",
                                      "recon/estimate -> page"});
}

TEST_CASE("wrong nested pipelines are told with file, line and column") {
  const Files files;
  const std::string sub = files.write("sub.yaml", step_yaml);
  const std::string name = files.at("main.yaml");
  const auto with = [&](const std::string& line) {
    return problems_of("gadgets:\n  feed: {use: count}\n  " + line + "\n", {}, name);
  };
  const auto main = [&](const std::string& message) { return name + ":3:" + message; };
  CHECK(with("x: {use: pipeline, file: sub.yaml}") ==
        Lines{main("3: gadgets.x: input 'events' of sub.yaml is not connected: add it to 'from'")});
  CHECK(with("x: {use: pipeline, file: sub.yaml, from: {evnts: feed}}") ==
        Lines{main("44: gadgets.x: input 'events' of sub.yaml is not connected: add it to 'from'"),
              main("45: gadgets.x: sub.yaml has no input 'evnts', did you mean 'events'?")});
  CHECK(with("x: {use: pipeline, file: sub.yaml, from: feed, variables: {dealy: 1}}") ==
        Lines{main("62: nothing uses variable 'dealy', did you mean 'delay'?")});
  CHECK(with("x: {use: pipeline, file: sub.yaml, from: feed, parallel: 2}") ==
        Lines{main("50: gadgets.x: a nested pipeline takes use, file, from and variables, not 'parallel'")});
  CHECK(with("x: {use: pipeline, from: feed}") ==
        Lines{main("3: gadgets.x: 'file' must name the pipeline to put here")});
  CHECK(with("x: {use: pipeline, file: sub.yaml, from: fed}") ==
        Lines{main("44: gadgets.x/first: from 'fed': no gadget has this name, did you mean 'feed'?")});
  CHECK(with("x: {use: pipeline, file: nothing.yaml, from: feed}\n  y: {use: pass, from: x}") ==
        Lines{main("28: " + files.at("nothing.yaml") + ": cannot be read: No such file or directory")});
  CHECK(with("x: {use: pipeline, file: sub.yaml, from: feed}\n  y: {use: collect, from: x}") ==
        Lines{name + ":4:27: gadgets.y: 'x' has several outputs: write x.all or x.even"});
  CHECK(with("x: {use: pipeline, file: sub.yaml, from: feed}\n  y: {use: collect, from: x.evn}") ==
        Lines{name + ":4:27: gadgets.y: sub.yaml has no output 'evn', did you mean 'x.even'?"});
  CHECK(with("x: {use: pipelin, file: sub.yaml}").front() ==
        main("12: gadgets.x: no gadget is called 'pipelin', did you mean 'pipeline'?"));
  CHECK(problems_of(step_yaml, {}, sub) ==
        Lines{sub + ":1:10: a pipeline with inputs runs within another: NAME: {use: pipeline, file: sub.yaml, from: "
                    "NAME}"});
}

TEST_CASE("a nested file's own errors have their place in it, under the full name") {
  const Files files;
  const std::string bad = files.write("bad.yaml", R"(inputs: [events, unread, first]
outputs: {image: lst, none: events}
dealy_ms: 3
gadgets:
  first: {use: pass, from: evnts}
  last:  {use: pass, from: events, delay_ms: -1}
  shown: {use: show, from: events}
)");
  const std::string name = files.at("main.yaml");
  CHECK(problems_of("gadgets:\n  feed: {use: count}\n  x: {use: pipeline, file: bad.yaml, from: {events: feed, unread: "
                    "feed}}\n",
                    {}, name) ==
        Lines{bad + ":1:18: no gadget reads the input 'unread'",
              bad + ":1:26: 'first' names an input and a gadget: rename one",
              bad + ":2:18: outputs.image: no gadget is called 'lst', did you mean 'last'?",
              bad + ":2:29: outputs.none: 'events' is an input: an output names a gadget",
              bad + ":3:1: no gadget of this pipeline declares 'dealy_ms', did you mean 'delay_ms'?",
              bad + ":5:28: gadgets.x/first: from 'evnts': no gadget has this name, did you mean 'events'?",
              bad + ":6:46: gadgets.x/last.delay_ms must be at least 0 ms, not -1",
              name + ":3:53: gadgets.x/shown: 'feed' (count) gives events, but show takes image"});
}

TEST_CASE("a file that contains itself, directly or through others, is refused") {
  const Files files;
  const std::string a = files.write("a.yaml", "gadgets:\n  feed: {use: count}\n  x: {use: pipeline, file: b.yaml}\n");
  const std::string b = files.write("b.yaml", "gadgets:\n  y: {use: pipeline, file: ./a.yaml}\n");
  const auto load = [](const std::string& file) {
    try {
      load_pipeline(file);
    } catch (const ConfigErrors& errors) {
      return texts_of(errors.problems());
    }
    return Lines{};
  };
  CHECK(load(a) == Lines{b + ":2:28: gadgets.x/y: './a.yaml' contains itself"});
  const std::string self = files.write("self.yaml", "gadgets:\n  x: {use: pipeline, file: self.yaml}\n");
  CHECK(load(self) == Lines{self + ":2:28: gadgets.x: 'self.yaml' contains itself"});
}

TEST_CASE("files that multiply are stopped") {
  const Files files;
  files.write("n0.yaml", "gadgets:\n  feed: {use: count}\n");
  for (int i = 1; i <= 12; ++i) {
    std::string text = "gadgets:\n";
    for (int j = 0; j < 4; ++j) text += fmt::format("  g{}: {{use: pipeline, file: n{}.yaml}}\n", j, i - 1);
    files.write(fmt::format("n{}.yaml", i), text);
  }
  const Lines problems = problems_of("gadgets:\n  x: {use: pipeline, file: n12.yaml}\n", {}, files.at("main.yaml"));
  REQUIRE(!problems.empty());
  CHECK(problems[0].find("do nested pipelines multiply?") != std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
