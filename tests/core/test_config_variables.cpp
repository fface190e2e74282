// Variables of a pipeline: where they may stand, what they become, and the errors for wrong ones.
#include "config_support.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

Pipeline with(const std::string& variables, const std::string& feed, const PipelineOptions& options = {}) {
  return parse_pipeline(variables + "gadgets:\n  feed: {use: count, " + feed + "}\n", "pipe.yaml", options);
}

Lines problems_with(const std::string& variables, const std::string& feed, const PipelineOptions& options = {}) {
  return problems_of(variables + "gadgets:\n  feed: {use: count, " + feed + "}\n", options);
}

// A gadget whose parameter is a list and one that is a map.
struct Shaped {
  struct Params {
    std::array<int, 3> size{};
    EdgeSettings box;
  };
  static constexpr auto params =
      describe(param<&Params::size>("size", "Three numbers"), param<&Params::box>("box", "A map"));
  void process(const Batch&) {}
};
TOFSTREAM_GADGET(Shaped, "shaped", "Has a list and a map");

}  // namespace

TEST_CASE("a variable is a whole value or part of a text, and --set overrides it") {
  const std::string variables = "variables: {n: 7, folder: scans}\n";
  const std::string feed = "messages: \"${n}\", path: \"${folder}/run_${n}.petsird\"";
  CHECK(resolved_text(with(variables, feed), "feed", "messages") == "7");
  CHECK(resolved_text(with(variables, feed), "feed", "path") == "scans/run_7.petsird");
  const Pipeline other = with(variables, feed, {.sets = {"variables.n=8"}});
  CHECK(resolved_text(other, "feed", "messages") == "8");
  CHECK(resolved_text(other, "feed", "path") == "scans/run_8.petsird");
}

TEST_CASE("a default stands in for a variable that is not there, and $${ is a literal") {
  CHECK(resolved_text(with("", "messages: \"${n:-5}\""), "feed", "messages") == "5");
  CHECK(resolved_text(with("variables: {n: 6}\n", "messages: \"${n:-5}\""), "feed", "messages") == "6");
  CHECK(resolved_text(with("", "path: \"${a:-x${b:-y}}.dat\""), "feed", "path") == "xy.dat");
  CHECK(resolved_text(with("", "path: \"${a:-}\""), "feed", "path").empty());
  CHECK(resolved_text(with("", "path: \"$${HOME}/$x\""), "feed", "path") == "${HOME}/$x");
  CHECK(resolved_text(with("", "messages: 5", {.sets = {"feed.path=${f:-z}"}}), "feed", "path") == "z");
}

TEST_CASE("a variable may be a list or a map, and refer to other variables") {
  const Pipeline pipeline = parse_pipeline(R"(
variables:
  nx: 4
  size: ["${nx}", 5, 6]
  box: {messages: "${nx}"}
gadgets:
  feed: {use: count}
  a: {use: shaped, from: feed, size: "${size}", box: "${box}"}
  b: {use: shaped, from: feed, size: "${other:-[1, 2, 3]}", box: "${none:-{bytes: 9}}"}
)",
                                           "pipe.yaml");
  const auto size_of = [&](const char* name) {
    Lines texts;
    for (const Value& item : node(pipeline, name).resolved.find("size")->items) texts.push_back(item.text);
    return texts;
  };
  CHECK(size_of("a") == Lines{"4", "5", "6"});
  CHECK(size_of("b") == Lines{"1", "2", "3"});
  CHECK(node(pipeline, "a").resolved.find("box")->find("messages")->text == "4");
  CHECK(node(pipeline, "b").resolved.find("box")->find("bytes")->text == "9");
}

TEST_CASE("a wrong variable has its place and a suggestion, and no error that follows from it") {
  CHECK(problems_with("variables: {dose: 5}\n", "messages: \"${dsoe}\", path: \"${dose}\"") ==
        Lines{"pipe.yaml:3:32: no variable is called 'dsoe', did you mean 'dose'?"});
  CHECK(problems_with("", "messages: \"${dose}\"") ==
        Lines{"pipe.yaml:2:32: no variable is called 'dose': declare it under 'variables', set it by --set "
              "variables.dose=..., or write ${dose:-default}"});
  CHECK(problems_with("variables: {dsoe: 5, dose: 6}\n", "messages: \"${dose}\"") ==
        Lines{"pipe.yaml:1:13: nothing uses variable 'dsoe', did you mean 'dose'?"});
  CHECK(problems_with("", "messages: 5", {.sets = {"variables.dose=7"}}) ==
        Lines{"--set variables.dose=7: nothing uses variable 'dose'"});
  CHECK(problems_with("variables: {a: \"${b}\", b: \"${a}\"}\n", "path: \"${a}\"") ==
        Lines{"pipe.yaml:1:27: variable 'a' refers to itself"});
  CHECK(problems_with("variables: {a: [1, 2]}\n", "path: \"x${a}\"") ==
        Lines{"pipe.yaml:3:28: variable 'a' is a list of 2, which can only stand alone, as ${a}, not within a text"});
  CHECK(problems_with("", "path: \"${a\"") ==
        Lines{"pipe.yaml:2:28: '${a': a '${' is not closed: write ${name}, or $${ for a literal ${"});
  CHECK(problems_with("", "path: \"${1a}\"") ==
        Lines{"pipe.yaml:2:28: '${1a}' names no variable: write ${name} or ${name:-default}"});
  CHECK(problems_with("variables: [a]\n", "messages: 5") ==
        Lines{"pipe.yaml:1:12: variables must be a map such as {dose: 5}, not a list of 1"});
  CHECK(problems_with("variables: {a b: 5}\n", "path: \"${a}\"").front() ==
        "pipe.yaml:1:13: 'a b' cannot name a variable: letters, digits and _, not first a digit");
}

TEST_CASE("a variable's value is wrong where the value was written") {
  CHECK(problems_with("variables: {n: many}\n", "messages: \"${n}\"") ==
        Lines{"pipe.yaml:1:16: gadgets.feed.messages must be an integer, not 'many'"});
  CHECK(problems_with("variables: {n: 5}\n", "messages: \"${n}\"", {.sets = {"variables.n=many"}}) ==
        Lines{"--set variables.n=many: gadgets.feed.messages must be an integer, not 'many'"});
}

TEST_CASE("variables that multiply or nest without end are refused") {
  std::string text = "variables:\n  v0: [x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    text += fmt::format("  v{}: [", i);
    for (int j = 0; j < 8; ++j) text += fmt::format("{}\"${{v{}}}\"", j ? ", " : "", i - 1);
    text += "]\n";
  }
  const Lines problems = problems_with(text, "path: \"${v11}\"");
  REQUIRE(!problems.empty());
  CHECK(problems[0].find("do they multiply each other?") != std::string::npos);
  std::string deep;
  for (int i = 0; i < 20'000; ++i) deep += "${a:-";
  const Lines nested = problems_with("", "path: \"" + deep + std::string(20'000, '}') + "\"");
  REQUIRE(nested.size() == 1);
  CHECK(nested[0].find("is not closed") != std::string::npos);
}

TEST_CASE("an unquoted reference within braces is told how to be written") {
  const Lines problems = problems_of("gadgets:\n  feed: {use: count, messages: ${n}}\n");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].starts_with("pipe.yaml:2:"));
  CHECK(problems[0].ends_with("; within {} or [] write \"${name}\" with quotes"));
}

TEST_CASE("variables pass through includes: the including file's win, and what is overridden still counts as used") {
  const Files files;
  files.write("base.yaml",
              "variables: {n: 3, f: base.dat}\ngadgets:\n  feed: {use: count, messages: \"${n}\", path: "
              "\"${f}\"}\n  a: {use: collect, from: feed, as: \"${who:-base}\"}\n");
  const std::string name = files.at("main.yaml");
  const Pipeline pipeline =
      parse_pipeline("include: base.yaml\nvariables: {n: 4, who: main}\ngadgets:\n  a: {delay_ms: 1}\n", name);
  CHECK(resolved_text(pipeline, "feed", "messages") == "4");
  CHECK(resolved_text(pipeline, "feed", "path") == "base.dat");
  CHECK(resolved_text(pipeline, "a", "as") == "main");
  CHECK(problems_of("include: base.yaml\ngadgets: {feed: {use: silent_count}}\n", {}, name).empty());
  CHECK(problems_of("include: base.yaml\n", {.sets = {"feed.messages=5"}}, name).empty());
  CHECK(problems_of("include: \"${x}.yaml\"\nvariables: {x: base}\ngadgets: {feed: {use: count}}\n", {}, name) ==
        Lines{name + ":1:10: include: '${x}.yaml' cannot hold a variable: files are included before variables are "
                     "known"});
}
// SPDX-License-Identifier: Apache-2.0
