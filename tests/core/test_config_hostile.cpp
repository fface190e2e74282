// Files that would keep the program busy for ever or take all memory: each is refused with a problem. They include what
// the fuzzer tests/fuzz/fuzz_pipeline.cpp found.
#include "config_support.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

bool mentions(const Lines& problems, std::string_view words) {
  return std::ranges::any_of(problems, [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("a document that begins with what no value can begin with") {
  CHECK(problems_of("pipeline: x\ngadgets:\n\tfeed: {use: count}\n") ==
        Lines{"pipe.yaml:3:1: a tab: YAML is indented by spaces alone"});
  CHECK(problems_of("gadgets:\n  feed:\n  \tuse: count\n") ==
        Lines{"pipe.yaml:3:3: a tab: YAML is indented by spaces alone"});
  CHECK(problems_of(",gadgets: {}\n") == Lines{"pipe.yaml:1:1: not valid YAML: no value can begin so"});
  CHECK(problems_of("# first\n--- \n,\n").size() == 1);
}

TEST_CASE("bytes that are no text") {
  CHECK(problems_of("gadgets: {feed: {use: \"co\xffunt\"}}\n")[0] == "pipe.yaml:1:23: a text is not valid UTF-8");
  CHECK(mentions(problems_of("gadgets: {f\xc3: {use: count}}\n"), "pipe.yaml:1:11: a key is not valid UTF-8"));
  CHECK(parse_pipeline("gadgets: {\"f\u00e9ed\": {use: count}}\n", "pipe.yaml").gadgets[0].name == "f\u00e9ed");
}

TEST_CASE("brackets, dashes and question marks within each other without end") {
  for (const char* opening : {"[", "{", "- ", "? ", "{a: [", "!!x [", "&a [", "a: {"}) {
    CAPTURE(opening);
    CHECK(problems_of(repeated(opening, 200'000)).size() == 1);
  }
}

TEST_CASE("files that include two others each, over and over") {
  const Files files;
  for (int i = 0; i < 40; ++i)
    files.write(fmt::format("{}.yaml", i), fmt::format("include: [{0}.yaml, {0}.yaml]\n", i + 1));
  files.write("40.yaml", "gadgets: {feed: {use: count}}\n");
  CHECK(mentions(problems_of("include: 0.yaml\n", {}, files.at("pipe.yaml")), "more than 1000 files are included"));
}

TEST_CASE("a file without end") {
  CHECK(mentions(problems_of("include: /dev/zero\n"), "pipe.yaml:1:10: /dev/zero: is larger than 16 MiB"));
}

TEST_CASE("more problems than anyone reads") {
  std::string text = "gadgets:\n  g0: &all {use: pass, from: feed";
  for (int i = 0; i < 900; ++i) text += fmt::format(", unknown_{}: 1", i);
  text += "}\n";
  for (int i = 1; i < 900; ++i) text += fmt::format("  g{}: *all\n", i);
  const Lines problems = problems_of(text);
  CHECK(problems.size() == Problems::most + 1);
  CHECK(mentions(problems, "more than 1000 problems: these are the first"));
}

TEST_CASE("maps that are merged a thousand times") {
  std::string text = "a: &a {";
  for (int i = 0; i < 1000; ++i) text += fmt::format("k{}: 1, ", i);
  CHECK_FALSE(problems_of(text + "}\nb: {<<: [" + repeated("*a, ", 990) + "]}\n").empty());
}

TEST_CASE("a map of a hundred thousand keys") {
  std::string text = "gadgets: {feed: {use: count}}\n";
  for (int i = 0; i < 100'000; ++i) text += fmt::format("key{}: 1\n", i);
  CHECK(mentions(problems_of(text), "a map with more than 10000 keys"));
}

TEST_CASE("every gadget reads from every other") {
  std::string text = "gadgets:\n  f0: {use: count}\n  p0: {use: pass, from: &all [f0";
  for (int i = 1; i < 300; ++i) text += fmt::format(", f{}", i);
  text += "]}\n";
  for (int i = 1; i < 300; ++i) text += fmt::format("  f{0}: {{use: count}}\n  p{0}: {{use: pass, from: *all}}\n", i);
  CHECK(problems_of(text).size() <= Problems::most);
}
// SPDX-License-Identifier: Apache-2.0
