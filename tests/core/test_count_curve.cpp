// The curve of events over time: bounded, and exact where it has a point.
#include "core/count_curve.hpp"
#include "gadgets.hpp"

using namespace tofstream;
using namespace tofstream::test;

TEST_CASE("a curve of counts stays within its size, keeps its beginning and spreads its points evenly") {
  CountCurve curve(0.1, 100);
  for (int i = 1; i <= 100'000; ++i) curve.add({0.1 * i, static_cast<std::uint64_t>(7 * i)});
  const std::vector<CountPoint>& points = curve.points();
  CHECK(points.size() <= 100);
  CHECK(points.size() >= 49);
  CHECK(points.front() == CountPoint{0, 0});
  CHECK(points.back().seconds > 9800);
  const double step = points[1].seconds;  // a point comes with the first call after it is due
  for (std::size_t i = 1; i < points.size(); ++i) {
    CHECK(std::abs(points[i].seconds - points[i - 1].seconds - step) < 2);
    CHECK(static_cast<double>(points[i].events) == doctest::Approx(70 * points[i].seconds));
  }
}

TEST_CASE("points that come before they are due are left out") {
  CountCurve curve(1, 10);
  for (const double seconds : {0.2, 0.9, 1.5, 1.6, 2.6}) curve.add({seconds, 1});
  CHECK(curve.points() == std::vector<CountPoint>{{0, 0}, {1.5, 1}, {2.6, 1}});
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
