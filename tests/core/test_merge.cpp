// Several writers into one input, joins by origin, and inputs that may be left out.
#include "gadgets.hpp"

using namespace tofstream;
using namespace tofstream::test;

TEST_CASE("an unordered merge takes every message of every writer once") {
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 200}
  split: {use: split, from: feed}
  slow: {use: pass, from: split.even, delay_ms: 0.05}
  last: {use: collect, from: [slow, split.odd]}
)");
  CHECK(report.exit_code == 0);
  CHECK(report.books.reconstructed == 2000);
  std::vector<std::uint64_t> seen = witness.numbers["collect"];
  std::ranges::sort(seen);
  CHECK(seen == counted(200));
}

TEST_CASE("an ordered merge restores the order of the source, however slow a branch is") {
  for (const std::string slow : {"even", "odd"}) {
    CAPTURE(slow);
    Witness witness;
    const RunReport report = run_text(fmt::format(R"(
gadgets:
  feed: {{use: count, messages: 200}}
  split: {{use: split, from: feed}}
  slow: {{use: pass, from: split.{}, delay_ms: 0.05, uneven: true, parallel: 4, edge: {{messages: 3}}}}
  last: {{use: collect, from: [slow, split.{}], merge: ordered, edge: {{messages: 2}}}}
)",
                                                  slow, slow == "even" ? "odd" : "even"));
    CHECK(report.exit_code == 0);
    CHECK(witness.numbers["collect"] == counted(200));
  }
}

TEST_CASE("a branch that gives nothing for most messages holds no ordered merge up") {
  // Narrow edges: without a promise that nothing more comes, the full branch would block the source for ever.
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 500}
  split: {use: split, from: feed}
  kept: {use: every, from: split.odd, of: 100, phase: 1, edge: {messages: 1}}
  late: {use: pass, from: kept, edge: {messages: 1}}
  last: {use: collect, from: [late, split.even], merge: ordered, edge: {messages: 1}}
)");
  CHECK(report.exit_code == 0);
  REQUIRE(witness.numbers["collect"].size() == 250 + 5);
  CHECK(std::ranges::is_sorted(witness.numbers["collect"]));
  CHECK(report.books.rejected.at("kept") == 2450);
}

TEST_CASE("an ordered merge takes the writers of one origin in the order of `from`, and what a flush gives last") {
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: silent_count}
  bursts: {use: burst, from: feed}
  more: {use: burst, from: feed, copies: 1}
  last: {use: collect, from: [more, bursts], merge: ordered, book: nothing}
  kept: {use: collect, from: feed, as: kept}
)");
  CHECK(report.exit_code == 0);
  const std::vector<std::uint64_t> expected{0, 0, 1, 2,  1,  3, 4,  5,  2,  6,    7,
                                            8, 3, 9, 10, 11, 4, 12, 13, 14, 1000, 1000};
  CHECK(witness.numbers["collect"] == expected);
}

TEST_CASE("behind a merge without order messages are numbered anew, which an ordered merge may go by but not mix") {
  const std::string shuffled = R"(
gadgets:
  feed: {use: count, messages: 300}
  split: {use: split, from: feed, edge: {messages: 1}}
  slow: {use: pass, from: split.even, parallel: 3, edge: {messages: 1}}
  mixed: {use: pass, from: [slow, split.odd], edge: {messages: 1}}
  again: {use: split, from: mixed, edge: {messages: 1}}
  more: {use: pass, from: again.even, edge: {messages: 1}}
)";
  Witness witness;
  const RunReport report = run_text(shuffled + R"(
  seen: {use: collect, from: mixed, as: mixed}
  last: {use: collect, from: [more, again.odd], merge: ordered, edge: {messages: 1}}
)");
  CHECK(report.exit_code == 0);
  CHECK(witness.numbers["collect"] == witness.numbers["mixed"]);
  CHECK(witness.numbers["collect"].size() == 300);
  CHECK_THROWS_WITH(
      parse_pipeline(shuffled + "  last: {use: collect, from: [more, split.odd], merge: ordered}\n", "test.yaml"),
      "test.yaml:9:37: gadgets.last: merge: ordered compares the numbers of its writers' messages, but 'mixed' merges "
      "without order and so numbers some of them anew: set merge: ordered there");
}

TEST_CASE("a join by sequence pairs messages of one origin and discards what has no partner") {
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 100}
  some: {use: every, from: feed, of: 5, edge: {messages: 1}}
  all: {use: pass, from: feed, edge: {messages: 1}}
  pair: {use: pair, from: {left: some, right: all}, join: sequence, edge: {messages: 1}}
  last: {use: collect, from: pair}
  kept: {use: collect, from: all, as: kept}
)");
  REQUIRE(report.exit_code == 0);
  std::vector<std::uint64_t> expected;
  for (std::uint64_t n = 0; n < 100; n += 5) expected.push_back(101 * n);
  CHECK(witness.numbers["pair"] == expected);
  const auto right = std::ranges::find(report.edges, "all -> pair.right", &EdgeReport::name);
  CHECK(right->figures.dropped_messages == 80);
  CHECK(right->figures.dropped_events == 800);
}

TEST_CASE("a join by sequence ends well where one side ends long before the other") {
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  few: {use: count, messages: 3}
  many: {use: count, messages: 300}
  pair: {use: pair, from: {left: few, right: many}, join: sequence, edge: {messages: 2}}
  last: {use: collect, from: pair, book: nothing}
  a: {use: collect, from: few, as: a}
  b: {use: collect, from: many, as: b}
)");
  CHECK(report.exit_code == 0);
  CHECK(witness.numbers["pair"] == std::vector<std::uint64_t>{0, 101, 202});
}

TEST_CASE("an optional input may be left out, and is joined where it is connected") {
  Witness witness;
  const RunReport without = run_text(R"(
gadgets:
  feed: {use: count, messages: 3}
  masked: {use: masking, from: {batch: feed}}
  last: {use: collect, from: masked}
)");
  CHECK(without.exit_code == 0);
  const RunReport with = run_text(R"(
gadgets:
  feed: {use: count, messages: 3}
  marks: {use: mark, from: feed}
  masked: {use: masking, from: {batch: feed, mask: marks}}
  last: {use: collect, from: masked}
)");
  CHECK(with.exit_code == 0);
  CHECK(witness.numbers["masking"] == std::vector<std::uint64_t>{0, 0, 0, 1000, 1001, 1002});
}
// SPDX-License-Identifier: Apache-2.0
