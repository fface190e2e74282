// A pipeline runs to the end of its stream: order, joins, feedback, fan-out, bounds of edges,
// books.
#include "gadgets.hpp"

using namespace tofstream;
using namespace tofstream::test;

TEST_CASE("a chain hands every message on in order, flushes in order and balances its books") {
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 200}
  a: {use: pass, from: feed}
  b: {use: pass, from: a}
  last: {use: collect, from: b}
)");
  CHECK(report.exit_code == 0);
  CHECK(report.errors.empty());
  CHECK(witness.numbers["collect"] == counted(200));
  CHECK(report.books.received == 2000);
  CHECK(report.books.reconstructed == 2000);
  CHECK(report.books.balanced());
  CHECK(gadget(report, "b").messages_in == 200);
  CHECK(gadget(report, "b").events_out == 2000);
  CHECK(report.latency.messages == 200);
  for (const EdgeReport& edge : report.edges) CHECK(edge.figures.most_messages <= edge.limits.messages);
}

TEST_CASE("parallel gadgets keep the order of their inputs") {
  for (const char* parallel : {"auto", "2", "7"}) {
    Witness witness;
    const RunReport report = run_text(fmt::format(R"(
gadgets:
  feed: {{use: count, messages: 120}}
  work: {{use: pass, from: feed, delay_ms: 0.1, uneven: true, parallel: {}}}
  kept: {{use: filter, from: work, parallel: 3}}
  last: {{use: collect, from: kept, edge: {{messages: 2}}}}
)",
                                                  parallel));
    CHECK(report.exit_code == 0);
    std::vector<std::uint64_t> wanted;
    for (std::uint64_t i = 0; i < 120; ++i)
      if (i % 5 != 4) wanted.push_back(i);
    CHECK(witness.numbers["collect"] == wanted);
    CHECK(report.edges.back().figures.most_messages <= 2);
  }
}

TEST_CASE("what a filter leaves out is booked: by its own reason, or else under its name") {
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 50}
  kept: {use: filter, from: feed}
  last: {use: collect, from: kept}
)");
  CHECK(report.exit_code == 0);
  CHECK(report.books.received == 500);
  CHECK(report.books.reconstructed == 40 * 7);
  CHECK(report.books.rejected.at("too soft") == 40);
  CHECK(report.books.rejected.at("kept") == 40 * 2 + 10 * 10);
}

TEST_CASE("a fan-out shares one payload, and a gadget that changes its copy is not seen by the others") {
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 1}
  one: {use: collect, from: feed, as: one}
  two: {use: collect, from: feed, as: two, book: nothing}
  three: {use: blocking_collect, from: feed, as: three, book: nothing}
  changed: {use: mark, from: feed}
  four: {use: collect, from: changed, as: four, book: nothing}
)");
  CHECK(report.exit_code == 0);
  REQUIRE(witness.addresses.size() == 4);
  std::ranges::sort(witness.addresses);
  // The three that share, and the changed copy.
  const auto end = std::unique(witness.addresses.begin(), witness.addresses.end());
  CHECK(end - witness.addresses.begin() == 2);
  CHECK(witness.numbers["four"] == std::vector<std::uint64_t>{1000});
  for (const char* name : {"one", "two", "three"}) CHECK(witness.numbers[name] == counted(1));
}

TEST_CASE("a gadget with several outputs sends each message its way") {
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 9}
  branch: {use: split, from: feed}
  left: {use: collect, from: branch.even, as: left}
  right: {use: collect, from: branch.odd, as: right, book: written}
)");
  CHECK(report.exit_code == 0);
  CHECK(witness.numbers["left"] == std::vector<std::uint64_t>{0, 2, 4, 6, 8});
  CHECK(witness.numbers["right"] == std::vector<std::uint64_t>{1, 3, 5, 7});
  CHECK(report.books.reconstructed == 50);
  CHECK(report.books.written == 40);
}

TEST_CASE("a join takes one message of each input, in order") {
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 30}
  slow: {use: pass, from: feed, delay_ms: 0.2}
  both: {use: pair, from: {left: slow, right: feed}}
  last: {use: collect, from: both}
)");
  CHECK(report.exit_code == 0);
  std::vector<std::uint64_t> wanted;
  for (std::uint64_t i = 0; i < 30; ++i) wanted.push_back(101 * i);
  CHECK(witness.numbers["pair"] == wanted);
  CHECK(report.books.balanced());
}

TEST_CASE("a join whose inputs end unevenly fails instead of losing what is left") {
  const RunReport report = run_text(R"(
gadgets:
  one: {use: count, messages: 3}
  two: {use: count, messages: 30}
  both: {use: pair, from: {left: one, right: two}}
  last: {use: collect, from: both}
)");
  CHECK(report.exit_code == exit_run);
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].gadget == "both");
  CHECK(report.errors[0].what.find("'left' ended while 'right' goes on") != std::string::npos);
}

TEST_CASE("a feedback edge carries the estimate from update to update") {
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  subsets: {use: count, messages: 40}
  projected: {use: project, from: {events: subsets, image: estimate}}
  estimate: {use: update, from: projected}
  shown: {use: show, from: estimate}
)");
  CHECK(report.exit_code == 0);
  std::vector<std::uint64_t> wanted{1};
  for (std::uint64_t i = 0; i < 40; ++i) wanted.push_back(2 * wanted.back() + i);
  CHECK(witness.numbers["shown"].empty());
  CHECK(witness.numbers["show"] == wanted);
  CHECK(report.books.reconstructed == 400);
  const auto& values = std::get<std::vector<double>>(gadget(report, "estimate").figures.at("values"));
  CHECK(values.size() == 40);
  CHECK(report.edges[1].name == "estimate -> projected.image");
  CHECK(report.edges[1].figures.dropped_messages == 0);
}

TEST_CASE("a cycle whose first message never comes is reported, not waited for") {
  const RunReport report = run_text(R"(
gadgets:
  subsets: {use: count, messages: 100}
  projected: {use: project, from: {events: subsets, image: estimate}}
  estimate: {use: update, from: projected, silent_start: true}
  shown: {use: show, from: estimate}
)");
  CHECK(report.exit_code == exit_run);
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].what.find("'projected' waits for estimate -> projected.image") != std::string::npos);
  CHECK(report.errors[0].what.find("'subsets' is held up by the full edge subsets -> projected.events") !=
        std::string::npos);
}

TEST_CASE("two paths of different depth into a join get stuck with a reason") {
  // `burst` gives three messages for each, so its side of the join fills while the other empties.
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 60}
  many: {use: burst, from: feed}
  both: {use: pair, from: {left: many, right: feed}}
  last: {use: collect, from: both, book: nothing}
)");
  CHECK(report.exit_code == exit_run);
  REQUIRE(report.errors.size() == 1);
}

TEST_CASE("a slow sink holds the source back: edges stay within their messages and bytes") {
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 60}
  a: {use: pass, from: feed, edge: {messages: 3}}
  many: {use: burst, from: a, edge: {bytes: 2000}}
  last: {use: blocking_collect, from: many, delay_ms: 0.1, book: nothing, edge: {messages: 2}}
  side: {use: collect, from: a}
)");
  CHECK(report.exit_code == 0);
  CHECK(witness.numbers["collect"].size() == 60 * 3 + 1 + 60);
  for (const EdgeReport& edge : report.edges) {
    CHECK(edge.figures.most_messages <= edge.limits.messages);
    CHECK(edge.figures.most_bytes <= edge.limits.bytes + 1000);
  }
  CHECK(report.edges[2].figures.most_messages == 2);
  CHECK(gadget(report, "many").waiting_output_seconds > 0);
}

TEST_CASE("drop_oldest never holds the source back, and every drop is in the books") {
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 300}
  last: {use: blocking_collect, from: feed, delay_ms: 0.5, edge: {policy: drop_oldest, messages: 2}}
)");
  CHECK(report.exit_code == 0);
  const EdgeFigures& edge = report.edges[0].figures;
  CHECK(edge.dropped_messages > 0);
  CHECK(edge.most_messages <= 2);
  CHECK(edge.dropped_events == 10 * edge.dropped_messages);
  CHECK(report.books.discarded == edge.dropped_events);
  CHECK(report.books.reconstructed + report.books.discarded == 3000);
  CHECK(std::ranges::is_sorted(witness.numbers["collect"]));
  CHECK(witness.numbers["collect"].back() == 299);
}

TEST_CASE("a side branch that drops and rejects does not touch the books of the main way") {
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 100}
  last: {use: collect, from: feed}
  kept: {use: filter, from: feed, edge: {policy: drop_oldest, messages: 1}}
  page: {use: collect, from: kept, book: nothing, delay_ms: 0.1}
)");
  CHECK(report.exit_code == 0);
  CHECK(report.books.reconstructed == 1000);
  CHECK(report.books.discarded == 0);
  CHECK(report.books.rejected.empty());
}

TEST_CASE("a stream copied to two settling gadgets balances on both") {
  const RunReport good = run_text(R"(
gadgets:
  feed: {use: count, messages: 10}
  image: {use: collect, from: feed}
  copy: {use: collect, from: feed, book: written}
)");
  CHECK(good.exit_code == 0);
  CHECK(good.books.reconstructed == 100);

  // The output `odd` is not connected, so the copy lacks half.
  const RunReport bad = run_text(R"(
gadgets:
  feed: {use: count, messages: 10}
  image: {use: collect, from: feed}
  branch: {use: split, from: feed}
  copy: {use: collect, from: branch.even, book: written}
)");
  CHECK(bad.exit_code == exit_run);
  CHECK(bad.books.difference ==
        "100 events were received but 50 accounted for (50 missing) on the way feed, branch, copy");
}

TEST_CASE("books that do not balance fail the run and say the difference") {
  TemporaryFolder folder;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 10}
  last: {use: collect, from: feed, book: nothing}
)",
                                    {.output_dir = folder.path});
  CHECK(report.exit_code == exit_run);
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].what ==
        "the books do not balance: 100 events were received but 0 accounted for (100 missing) on "
        "the way feed, last");
}

TEST_CASE("a source that books nothing has received what it gave") {
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: silent_count}
  last: {use: collect, from: feed}
)");
  CHECK(report.exit_code == 0);
  CHECK(report.books.received == 50);
}

TEST_CASE("a source alone runs to its end") {
  const RunReport report = run_text("gadgets: {feed: {use: silent_count}}");
  CHECK(report.exit_code == exit_run);  // its events are not accounted for
  CHECK(gadget(report, "feed").messages_out == 5);
}

TEST_CASE("a source that waits for half its edge goes on with less when nothing else can move") {
  // Batch n leaves `late` when n + 1 enters, so the left edge must hold two: the source must not wait until it is
  // empty.
  Witness witness;
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 400}
  late: {use: late, from: feed, edge: {messages: 1}}
  pair: {use: pair, from: {left: feed, right: late}, join: in_order, edge: {messages: 2}}
  last: {use: collect, from: pair}
)");
  CHECK(report.exit_code == 0);
  CHECK(witness.numbers["collect"] == counted(400));
}
// SPDX-License-Identifier: Apache-2.0
