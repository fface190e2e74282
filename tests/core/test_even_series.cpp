// Series of bounded size, and the curve of events over time that a run keeps in one.
#include "core/base/even_series.hpp"
#include "gadgets.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::test;

TEST_CASE("a series of any length stays within its size, keeps its beginning and spreads its entries evenly") {
  for (const std::size_t most : {2U, 10U, 11U, 100U}) {
    CAPTURE(most);
    EvenSeries<int> series(most);
    for (int i = 0; i < 1000; ++i) {
      const bool wanted = series.wants(i);
      CHECK(series.add(i, i) == wanted);
      REQUIRE(series.entries().size() <= most);
    }
    const auto& entries = series.entries();
    CHECK(entries.front() == 0);
    CHECK(entries.size() >= (most - 1) / 2);
    for (std::size_t i = 2; i < entries.size(); ++i) CHECK(entries[i] - entries[i - 1] == entries[1] - entries[0]);
    CHECK(entries.back() + entries[1] - entries[0] == static_cast<int>(series.due()));
  }
}

TEST_CASE("entries that come before they are due are left out") {
  EvenSeries<double> series(10, 1);
  for (const double at : {0.0, 0.2, 0.9, 1.5, 1.6, 2.6}) series.add(at, at);
  CHECK(series.entries() == std::deque<double>{0, 1.5, 2.6});
  CHECK(series.due() == approx(3.6));
}

TEST_CASE("a run knows how its events came, up to its end") {
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: count, messages: 50, pause_ms: 10}
  last: {use: collect, from: feed}
)");
  REQUIRE(report.counts.size() >= 4);
  CHECK(report.counts.front() == CountPoint{0, 0});
  CHECK(report.counts.back().events == 500);
  CHECK(report.counts.back().seconds <= report.seconds);
  for (std::size_t i = 1; i < report.counts.size(); ++i) {
    CHECK(report.counts[i].seconds > report.counts[i - 1].seconds);
    CHECK(report.counts[i].events >= report.counts[i - 1].events);
  }
  CHECK(report.counts[1].events < 500);
}

TEST_CASE("a source that books nothing counts by what it gave") {
  const RunReport report = run_text(R"(
gadgets:
  feed: {use: silent_count}
  last: {use: collect, from: feed}
)");
  CHECK(report.counts.back().events == report.books.received);
  CHECK(report.books.received == 50);
}
// SPDX-License-Identifier: Apache-2.0
