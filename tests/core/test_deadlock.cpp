// Warnings before a run about joins that may starve or pair wrong messages, and joins without a warning.
#include "config_support.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

const char* const head =
    "gadgets:\n  f: {use: count}\n  a: {use: pass, from: f}\n  b: {use: pass, from: a}\n"
    "  fewer: {use: filter, from: f}\n  more: {use: burst, from: f}\n"
    "  branch: {use: split, from: f}\n";

Lines warnings_of(const std::string& lines) {
  return texts_of(parse_pipeline(head + lines, "pipe.yaml").warnings);
}
Lines warning_for(const std::string& from, const std::string& more = "") {
  return warnings_of("  x: {use: pair, from: " + from + more + "}\n");
}

// Is stateful but gives one message for each, and declares it.
struct Tally {
  static constexpr bool one_to_one = true;
  void process(std::shared_ptr<const Batch> batch, Emit<Batch>& emit) { emit(batch); }
};
TOFSTREAM_GADGET(Tally, "tally", "Counts what passes");

// Keeps everything to the end.
struct Hold {
  void process(std::shared_ptr<const Batch> batch, Emit<Batch>&) { held_.push_back(std::move(batch)); }
  void flush(Emit<Batch>& emit) {
    for (const auto& batch : held_) emit(batch);
  }

 private:
  std::vector<std::shared_ptr<const Batch>> held_;
};
TOFSTREAM_GADGET(Hold, "hold", "Gives all at the end");

// Drops odd images, on a feedback cycle.
struct Choosy {
  std::optional<Picture> operator()(const Picture& image) const { return image; }
};
TOFSTREAM_GADGET(Choosy, "choosy", "May drop images");

}  // namespace

TEST_CASE("branches that give one for one may meet again") {
  CHECK(warning_for("{left: b, right: f}").empty());
  CHECK(warning_for("{left: a, right: b}").empty());
  CHECK(warnings_of("  t: {use: tally, from: b}\n  x: {use: pair, from: {left: t, right: f}}\n").empty());
  CHECK(warnings_of("  g: {use: count}\n  d: {use: filter, from: g}\n  x: {use: pair, from: {left: d, right: f}}\n")
            .empty());                                                        // independent sources
  CHECK(warning_for("{left: fewer, right: f}", ", join: in_order").empty());  // declared as intended
}

TEST_CASE("a branch that may give fewer or more is a warning with a remedy") {
  CHECK(
      warning_for("{left: fewer, right: b}") ==
      Lines{"pipe.yaml:8:45: gadgets.x: 'left' and 'right' may pair wrong messages, or one fills and all stops: both "
            "come from 'f', but 'fewer' (filter) may give more or fewer messages than it takes: write join: sequence, "
            "or join: in_order where that is meant"});
  CHECK(warning_for("{left: b, right: more}").front().find("'more' (burst) may give more or fewer") !=
        std::string::npos);
  CHECK(warning_for("{left: branch.even, right: branch.odd}") ==
        Lines{"pipe.yaml:8:51: gadgets.x: 'left' and 'right' may pair wrong messages, or one fills and all stops: "
              "'branch' (split) need not give a message on each output at a time: write join: sequence, or join: "
              "in_order where that is meant"});
  CHECK(warning_for("{left: fewer, right: b}", ", join: sequence").empty());
  CHECK(warning_for("{left: [branch.even, branch.odd], right: b}").size() == 1);
}

TEST_CASE("a join of different rates cannot work and is an error") {
  CHECK(
      problems_of(std::string(head) + "  x: {use: pair, from: {left: f, right: [a, b]}}\n") ==
      Lines{"pipe.yaml:8:45: gadgets.x: 'right' gets 2 messages while 'left' gets 1: one edge fills while the other is "
            "empty, and all stops; write join: sequence, or join as many of each"});
  CHECK(warning_for("{left: f, right: [a, b]}", ", join: sequence").empty());
}

TEST_CASE("merged messages have no order to pair by") {
  const Lines warnings = warning_for("{left: [f, a], right: [a, b]}");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("merged messages come in any order") != std::string::npos);
}

TEST_CASE("what comes at the end of the stream finds no partner in a join by sequence") {
  CHECK(warning_for("{left: more, right: f}", ", join: sequence") ==
        Lines{"pipe.yaml:8:31: gadgets.x: what 'more' (burst) gives at the end of the stream has no partner in 'right' "
              "and is discarded: read it without a join"});
  CHECK(warning_for("{left: fewer, right: f}", ", join: sequence").empty());
}

TEST_CASE("a gadget that holds messages back and one beside it that waits for them are told") {
  const char* yaml =
      "gadgets:\n  f: {use: count}\n  held: {use: hold, from: f}\n"
      "  x: {use: pair, from: {left: held, right: f}, edge: {messages: 2}}\n";
  const Lines warnings = texts_of(parse_pipeline(yaml, "pipe.yaml").warnings);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("or one fills and all stops: both come from 'f', but 'held' (hold)") != std::string::npos);
}

TEST_CASE("a gadget on a feedback cycle must not swallow messages") {
  const std::string loop = "  p: {use: project, from: {events: f, image: back}}\n  u: {use: update, from: p}\n";
  CHECK(
      warnings_of(loop + "  back: {use: choosy, from: u}\n") ==
      Lines{"pipe.yaml:8:46: gadgets.p: the cycle through back -> p.image stops for good when 'back' (choosy) gives no "
            "message for one it takes: keep it off the cycle, or let it always give one"});
  CHECK(texts_of(parse_pipeline("gadgets:\n  f: {use: count}\n  p: {use: project, from: {events: f, image: u}}\n"
                                "  u: {use: update, from: p}\n",
                                "pipe.yaml")
                     .warnings)
            .empty());
}
// SPDX-License-Identifier: Apache-2.0
