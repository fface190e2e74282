// A pipeline's configuration: every error at once with its place, defaults, --set, includes, aliases, wiring.
#include "config_support.hpp"

using namespace tofstream;
using namespace tofstream::test;

TEST_CASE("all errors are reported at once, each at its line and column") {
  CHECK(problems_of(R"(pipeline: bad
mesages: 3
gadgets:
  feed: {use: count, pause_ms: -3}
  a:
    use: pass
    from: fead
    delay: 1
  b: {use: pass, from: feed, parallel: 0}
  c: {use: collect, from: a, book: writen, edge: {policy: drop, messages: 0}}
)") == Lines{"pipe.yaml:2:1: no gadget of this pipeline declares 'mesages', did you mean 'messages'?",
             "pipe.yaml:4:32: gadgets.feed.pause_ms must be at least 0 ms, not -3",
             "pipe.yaml:7:11: gadgets.a: from 'fead': no gadget has this name, did you mean 'feed'?",
             "pipe.yaml:8:5: gadgets.a: pass has no parameter 'delay', did you mean 'delay_ms'?",
             "pipe.yaml:9:40: gadgets.b.parallel must be in [1, 1024], not 0",
             "pipe.yaml:10:36: gadgets.c.book must be one of reconstructed, written, nothing, not 'writen', "
             "did you mean 'written'?",
             "pipe.yaml:10:59: gadgets.c.edge.policy must be one of block, drop_oldest, spill, not 'drop', "
             "did you mean 'drop_oldest'?",
             "pipe.yaml:10:75: gadgets.c.edge.messages must be in [1, 1000000], not 0"});
}

TEST_CASE("an unknown gadget is named with the nearest known one, and its wiring is still checked") {
  CHECK(problems_of("gadgets:\n  feed: {use: cuont}\n  last: {use: collect, from: feeed}\n") ==
        Lines{"pipe.yaml:2:15: gadgets.feed: no gadget is called 'cuont', did you mean 'count'?",
              "pipe.yaml:3:30: gadgets.last: from 'feeed': no gadget has this name, did you mean 'feed'?"});
}

TEST_CASE("an edge is typed: both gadgets and both payloads are named") {
  CHECK(problems_of("gadgets:\n  feed: {use: count}\n  shown: {use: show, from: feed}\n") ==
        Lines{"pipe.yaml:3:28: gadgets.shown: 'feed' (count) gives events, but show takes image"});
  CHECK(problems_of("gadgets:\n  feed: {use: count}\n"
                    "  x: {use: project, from: {events: feed, image: feed}}\n") ==
        Lines{"pipe.yaml:3:49: gadgets.x: 'feed' (count) gives events, but project takes image as 'image'"});
}

TEST_CASE("ports: unknown, missing, ambiguous and superfluous ones") {
  const char* head =
      "gadgets:\n  feed: {use: count}\n  branch: {use: split, from: feed}\n  sink: {use: collect, from: feed}\n";
  const auto with = [&](const char* line) { return problems_of(std::string(head) + line); };
  CHECK(with("  x: {use: pair, from: {left: feed, rihgt: feed}}\n") ==
        Lines{"pipe.yaml:5:24: gadgets.x: input 'right' (events) of pair is not connected: add it to 'from'",
              "pipe.yaml:5:37: gadgets.x: pair has no input 'rihgt', did you mean 'right'?"});
  CHECK(with("  x: {use: pair, from: feed}\n") ==
        Lines{"pipe.yaml:5:24: gadgets.x: pair takes several inputs: from: {left: NAME, right: NAME}"});
  CHECK(with("  x: {use: pass, from: branch}\n") ==
        Lines{"pipe.yaml:5:24: gadgets.x: 'branch' has several outputs: write branch.even or branch.odd"});
  CHECK(with("  x: {use: pass, from: branch.evn}\n") ==
        Lines{"pipe.yaml:5:24: gadgets.x: split has no output 'evn', did you mean 'branch.even'?"});
  CHECK(with("  x: {use: pass, from: sink}\n") ==
        Lines{"pipe.yaml:5:24: gadgets.x: 'sink' (collect) is a sink and gives nothing"});
  CHECK(with("  x: {use: pass}\n") ==
        Lines{"pipe.yaml:5:3: gadgets.x: 'from' is missing: name the gadget whose output pass takes (events)"});
  CHECK(with("  x: {use: count, from: feed}\n") ==
        Lines{"pipe.yaml:5:25: gadgets.x: count is a source and takes no 'from'"});
  CHECK(with("  x: {use: pass, from: [[feed]]}\n") ==
        Lines{"pipe.yaml:5:25: gadgets.x: from takes the name of a gadget, not a list of 1"});
  CHECK(
      with("  x: {use: collect, from: feed, parallel: 2}\n") ==
      Lines{"pipe.yaml:5:43: gadgets.x: collect is not a pure gadget on the shared threads, so it cannot be parallel"});
  CHECK(with("  x: {use: pair, from: {left: feed, right: feed}, edge: {policy: drop_oldest}}\n").size() == 2);
}

TEST_CASE("a cycle needs a feedback input, and someone to begin it") {
  CHECK(problems_of("gadgets:\n  a: {use: pass, from: c}\n  b: {use: pass, from: a}\n  c: {use: pass, from: b}\n"
                    "  d: {use: collect, from: c}\n") ==
        Lines{"pipe.yaml:3:24: the gadgets form a cycle without a feedback input: a -> b -> c -> a"});
  CHECK(problems_of("gadgets:\n  a: {use: pass, from: a}\n") ==
        Lines{"pipe.yaml:2:24: the gadgets form a cycle without a feedback input: a -> a"});
}

TEST_CASE("duplicate keys, wrong shapes and broken YAML have places") {
  CHECK(problems_of("gadgets:\n  feed: {use: count, messages: 1, messages: 2}\n") ==
        Lines{"pipe.yaml:2:35: duplicate key 'messages'"});
  CHECK(problems_of("gadgets:\n  feed: {use: count}\n  feed: {use: count}\n") ==
        Lines{"pipe.yaml:3:3: duplicate key 'feed'"});
  CHECK(problems_of("gadgets:\n  feed: count\n") ==
        Lines{"pipe.yaml:2:9: gadgets.feed must be a map such as {use: GADGET, from: NAME}, not 'count'"});
  CHECK(problems_of("gadgets:\n  fe.ed: {use: count}\n") ==
        Lines{"pipe.yaml:2:3: 'fe.ed' cannot name a gadget: no dots, slashes or blanks"});
  CHECK(problems_of("gadgets:\n  feed: {from: a}\n") ==
        Lines{"pipe.yaml:2:3: gadgets.feed: 'use' must name the kind of gadget",
              "pipe.yaml:2:16: gadgets.feed: from 'a': no gadget has this name"});
  CHECK(problems_of("pipeline: x\n").size() == 1);
  CHECK(problems_of("just text") == Lines{"pipe.yaml:1:1: a pipeline is a map with the key 'gadgets'"});
  CHECK(problems_of("") == Lines{"pipe.yaml: a pipeline is a map with the key 'gadgets'"});
  CHECK(problems_of("gadgets: {feed: {use: count}}\n---\ngadgets: {}\n") ==
        Lines{"pipe.yaml:2:1: a second document: a pipeline file holds one"});
  const Lines broken = problems_of("gadgets:\n  feed: {use: count\n  b: [\n");
  REQUIRE(broken.size() == 1);
  CHECK(broken[0].starts_with("pipe.yaml:"));
  CHECK(broken[0].find("not valid YAML: ") != std::string::npos);
}

TEST_CASE("files that are not there, are folders or are empty") {
  TemporaryFolder folder;
  const auto text_of = [](const std::filesystem::path& file) -> std::string {
    try {
      load_pipeline(file);
    } catch (const ConfigErrors& errors) {
      return errors.what();
    }
    return "";
  };
  const std::filesystem::path file = folder.path / "p.yaml";
  CHECK(text_of(file) == file.string() + ": cannot be read: No such file or directory");
  CHECK(text_of(folder.path) == folder.path.string() + ": is a folder, not a YAML file");
  std::ofstream{file};
  CHECK(text_of(file) == file.string() + ": is empty");
  std::ofstream(file) << "gadgets: {feed: {use: count}}";
  CHECK(load_pipeline(file).name == "p");
}

TEST_CASE("aliases and merge keys work; endless ones are refused") {
  const Pipeline pipeline = parse_pipeline(R"(
gadgets:
  feed: {use: count}
  a: &slow {use: pass, from: feed, delay_ms: 2}
  b: {<<: *slow, from: a, uneven: true}
)",
                                           "pipe.yaml");
  CHECK(resolved_text(pipeline, "b", "delay_ms") == "2");
  CHECK(resolved_text(pipeline, "b", "uneven") == "true");
  CHECK(pipeline.edges[1].name == "a -> b");

  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    laughs += fmt::format("a{0}: &a{0} [", i);
    for (int j = 0; j < 10; ++j) laughs += fmt::format("*a{},", i - 1);
    laughs += "x]\n";
  }
  const Lines problems = problems_of(laughs + "gadgets: {feed: {use: count}}\n");
  CHECK(std::ranges::any_of(
      problems, [](const std::string& line) { return line.find("too deep or too large") != std::string::npos; }));
}

TEST_CASE("top-level keys are defaults of the gadgets that declare them") {
  const Pipeline pipeline = parse_pipeline(R"(
delay_ms: 3
gadgets:
  feed: {use: count}
  a: {use: pass, from: feed}
  b: {use: pass, from: a, delay_ms: 1}
  c: {use: collect, from: b}
)",
                                           "dir/name.yaml");
  CHECK(pipeline.name == "name");
  CHECK(resolved_text(pipeline, "a", "delay_ms") == "3");
  CHECK(resolved_text(pipeline, "b", "delay_ms") == "1");
  CHECK(resolved_text(pipeline, "c", "delay_ms") == "3");
  // A wrong one is reported once, under its own name, not once for each gadget.
  CHECK(problems_of("delay_ms: -1\ngadgets:\n  feed: {use: count}\n  a: {use: pass, from: feed}\n"
                    "  c: {use: collect, from: a}\n") ==
        Lines{"pipe.yaml:1:11: delay_ms must be at least 0 ms, not -1"});
}

TEST_CASE("--set overrides parameters and top-level keys; a wrong one is named by its text") {
  const char* yaml = "delay_ms: 3\ngadgets:\n  feed: {use: count}\n  a: {use: pass, from: feed}\n";
  const Pipeline pipeline =
      parse_pipeline(yaml, "p", {.sets = {"feed.messages=7", "delay_ms=0.5", "a.edge.messages=2"}});
  CHECK(resolved_text(pipeline, "feed", "messages") == "7");
  CHECK(resolved_text(pipeline, "a", "delay_ms") == "0.5");
  CHECK(pipeline.edges[0].settings.messages == 2);

  CHECK(problems_of(yaml, {.sets = {"feed.mesages=7"}}) ==
        Lines{"--set feed.mesages=7: gadgets.feed: count has no parameter 'mesages', did you mean 'messages'?"});
  CHECK(problems_of(yaml, {.sets = {"a.volume=7"}}) ==
        Lines{"--set a.volume=7: gadgets.a: pass has no parameter 'volume'; it knows delay_ms, uneven, "
              "throw_at, odd_exception"});
  CHECK(problems_of(yaml, {.sets = {"fed.messages=7"}}) ==
        Lines{"--set fed.messages=7: no gadget of this pipeline declares 'fed', did you mean 'feed'?"});
  CHECK(problems_of(yaml, {.sets = {"a.delay_ms=fast"}}) ==
        Lines{"--set a.delay_ms=fast: gadgets.a.delay_ms must be a number, not 'fast'"});
  CHECK(problems_of(yaml, {.sets = {"a.delay_ms"}}) == Lines{"--set a.delay_ms: write --set gadget.parameter=value"});
  CHECK(problems_of(yaml, {.sets = {"a.delay_ms=[1"}}).size() == 1);
}

TEST_CASE("--set of a top-level key that every gadget sets itself is refused, since it would change nothing") {
  const std::string before = "gadgets:\n  feed: {use: count}\n  a: {use: pass, from: feed, delay_ms: 1}\n";
  CHECK(problems_of(before.c_str(), {.sets = {"delay_ms=0.5"}}) ==
        Lines{"--set delay_ms=0.5: has no effect, since a sets delay_ms itself: write --set a.delay_ms=..."});
  const std::string one_more = before + "  b: {use: pass, from: a}\n";
  CHECK(resolved_text(parse_pipeline(one_more.c_str(), "p", {.sets = {"delay_ms=0.5"}}), "b", "delay_ms") == "0.5");
}

TEST_CASE("--input is the path of the one source, --backend a top-level key") {
  const char* yaml = "gadgets:\n  feed: {use: count}\n  a: {use: pass, from: feed}\n";
  CHECK(resolved_text(parse_pipeline(yaml, "p", {.input = "x.petsird"}), "feed", "path") == "x.petsird");
  CHECK(problems_of(yaml, {.backend = "cpu"}) == Lines{"--backend cpu: no gadget of this pipeline declares 'backend'"});
  CHECK(problems_of("gadgets: {feed: {use: silent_count}}", {.input = "x"}) ==
        Lines{"--input x: the source 'feed' (silent_count) reads no file: it has no parameter 'path'"});
  CHECK(problems_of("gadgets: {a: {use: count}, b: {use: count}}", {.input = "x"}) ==
        Lines{"--input x: the pipeline has 2 sources, so say which: --set NAME.path=x"});
}

TEST_CASE("an include is overridden key by key; a gadget that says 'use' again starts afresh") {
  TemporaryFolder folder;
  std::ofstream(folder.path / "base.yaml") << R"(pipeline: base
delay_ms: 2
gadgets:
  feed: {use: count, messages: 5}
  a: {use: pass, from: feed, uneven: true}
  last: {use: collect, from: a}
)";
  const std::string name = (folder.path / "live.yaml").string();
  const Pipeline pipeline = parse_pipeline(
      "include: base.yaml\npipeline: live\ngadgets:\n  feed: {use: silent_count}\n  a: {delay_ms: 9}\n", name);
  CHECK(pipeline.name == "live");
  CHECK(node(pipeline, "feed").info->name == "silent_count");
  CHECK(resolved_text(pipeline, "a", "delay_ms") == "9");
  CHECK(resolved_text(pipeline, "a", "uneven") == "true");
  CHECK(resolved_text(pipeline, "last", "delay_ms") == "2");

  const Pipeline without = parse_pipeline(
      "include: base.yaml\ngadgets:\n  a: ~\n  other: {use: count}\n  last: {from: other}\n  feed: ~\n", name);
  CHECK(without.gadgets.size() == 2);
  CHECK(edge_names(without) == Lines{"other -> last"});
  CHECK(problems_of("include: base.yaml\ngadgets:\n  b: ~\n", {}, name) ==
        Lines{name + ":3:6: gadgets.b must be a map such as {use: GADGET, from: NAME}, not nothing"});

  const Lines missing = problems_of("include: [nothing.yaml]\ngadgets: {feed: {use: count}}\n", {}, name);
  REQUIRE(missing.size() == 1);
  CHECK(missing[0].starts_with(name + ":1:11: "));
  CHECK(missing[0].ends_with("nothing.yaml: cannot be read: No such file or directory"));

  std::ofstream(folder.path / "loop.yaml") << "include: loop.yaml\n";
  const Lines loop = problems_of("include: loop.yaml\ngadgets: {feed: {use: count}}\n", {}, name);
  REQUIRE(loop.size() == 1);
  CHECK(loop[0].ends_with("loop.yaml:1:10: 'loop.yaml' includes itself"));
}

TEST_CASE("gadgets come in topological order, and edges bound parallel writers wide enough") {
  const Pipeline pipeline = parse_pipeline(R"(
gadgets:
  last: {use: collect, from: a}
  a: {use: pass, from: feed, parallel: 40}
  feed: {use: count}
)",
                                           "p");
  CHECK(pipeline.gadgets[0].name == "feed");
  CHECK(pipeline.gadgets[1].name == "a");
  CHECK(pipeline.gadgets[2].name == "last");
  CHECK(pipeline.edges[0].settings.messages == 80);
  CHECK(pipeline.edges[1].settings.messages == 64);
}
// SPDX-License-Identifier: Apache-2.0
