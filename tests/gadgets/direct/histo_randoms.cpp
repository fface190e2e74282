// The randoms that histo_deposit lays down: against a sum over pairs, and in whole reconstructions.
#include <algorithm>
#include <cmath>
#include <vector>

#include "gadgets/ring/io/ring_scanner_yaml.hpp"
#include "gadgets/step/line_randoms.hpp"
#include "gadgets/step/scanner_lines.hpp"
#include "gadgets/views.hpp"
#include "kernels/ring/simulate/event_simulator.hpp"
#include "tests/gadgets/direct/direct_runs.hpp"
#include "tests/gadgets/direct/sum_over_pairs.hpp"
#include "tests/support/approx.hpp"

namespace tofstream {
namespace {

using namespace direct_test;

constexpr double test_randoms_cps = 5000;

struct RingWithRandoms {
  TemporaryFolder folder;
  EventSimulator simulator;
  explicit RingWithRandoms(const SimulationOptions& options)
      : simulator(formats::read_ring_scanner(small_ring(folder.path())),
                  formats::read_phantom(water(folder.path(), false)).phantom, options) {}

  std::vector<ViewBatch> histo(const std::string& more, std::vector<EventBatch> batches) {
    RegisteredGadgetTest<ViewBatch> test(
        "histo_deposit", fmt::format("{{image: {}, views: [12, 3], acceptance_deg: 9{}}}", image_words, more));
    for (EventBatch& batch : batches) test.send(std::move(batch));
    test.finish();
    std::vector<ViewBatch> views;
    for (std::size_t v = 0; v < test.out.size(); ++v) views.push_back(std::move(test.out[v]));
    return views;
  }
};

}  // namespace

TEST_CASE("the randoms of histo-images are those of all pairs, spread evenly along their lines") {
  RingWithRandoms with({.seed = 3});
  const auto events = with.simulator.next_events(5000).events;
  const auto scanner = events.scanner;
  std::int64_t pairs = 0;
  const Grid everywhere = Grid::centred(1, 1, 1, {1000, 1000, 1000});
  lines_of(*scanner).visit(*scanner, everywhere, {},
                           [&](const EventView& lines, const float*, double) { pairs += lines.count; });
  // Crystals are alike, so each pair has as many.
  const double a_mm =
      test_randoms_cps / static_cast<double>(pairs) * events.duration_s / static_cast<double>(events.tof.window_mm);
  for (const HistoLattice kind : {HistoLattice::view, HistoLattice::image}) {
    CAPTURE(static_cast<int>(kind));
    SumOverPairs sum({.azimuths = 12, .tilts = 3, .acceptance_deg = 9}, kind);
    lines_of(*scanner).visit(*scanner, everywhere, {}, [&](const EventView& lines, const float*, double) {
      for (std::int64_t i = 0; i < lines.count; ++i) {
        const double golden = 0.618034 * static_cast<double>(i);
        sum.add(lines.lor(i), golden - std::floor(golden), [&](const Lor&) { return a_mm; });
      }
    });
    const auto views = with.histo(fmt::format(", lattice: {}, randoms: {{from: rate, rate_cps: {}}}",
                                              kind == HistoLattice::view ? "view" : "image", test_randoms_cps),
                                  {EventBatch(events)});
    REQUIRE(views.size() == 36);
    const double most = *std::ranges::max_element(sum.counts);
    double squares = 0;
    for (std::size_t v = 0; v < views.size(); ++v) {
      CAPTURE(v);
      REQUIRE(views[v].additive.size() == views[v].count);
      double of_view = 0;
      for (std::int64_t p = 0; p < views[v].count; ++p) {
        const auto count = static_cast<double>(views[v].additive[p]);
        const double error =
            count - sum.counts[v * static_cast<std::size_t>(views[v].count) + static_cast<std::size_t>(p)];
        of_view += count;
        squares += error * error;
      }
      CHECK(of_view == approx(sum.all[v]).epsilon(0.02));  // at the lattice's border lines are cut otherwise
    }
    CHECK(std::sqrt(squares / static_cast<double>(sum.counts.size())) < 0.02 * most);
  }
}

TEST_CASE("randoms from delayed coincidences are as many as were delayed, and as those of their rate") {
  RingWithRandoms with({.seed = 5, .randoms_cps = 40'000, .delayeds = true});
  std::vector<EventBatch> batches;
  double seconds = 0;
  std::int64_t delayeds = 0;
  for (int i = 0; i < 4; ++i) {
    SimulatedEvents simulated = with.simulator.next_events(50'000);
    seconds += simulated.events.duration_s;
    delayeds += simulated.delayeds.count;
    batches.push_back(std::move(simulated.delayeds));
    batches.push_back(std::move(simulated.events));
  }
  REQUIRE(delayeds > 1000);
  const auto copies = [&] {
    std::vector<EventBatch> result;
    for (const EventBatch& batch : batches) result.push_back(EventBatch(batch));
    return result;
  };
  const auto all_of = [](const std::vector<ViewBatch>& views) {
    double sum = 0;
    for (const ViewBatch& view : views)
      for (const float count : view.additive.span()) sum += static_cast<double>(count);
    return sum;
  };
  const double fitted = all_of(with.histo(", randoms: {from: delayeds}", copies()));
  const double rate = static_cast<double>(delayeds) / seconds;
  const double given = all_of(with.histo(fmt::format(", randoms: {{from: rate, rate_cps: {}}}", rate), copies()));
  CHECK(fitted == approx(given).epsilon(0.01));
  CHECK(given > 0);
  for (const ViewBatch& view : with.histo("", copies())) CHECK(view.additive.empty());
}

TEST_CASE("DIRECT: water with randoms comes out with its activity if they are corrected, and too high if not") {
  const TemporaryFolder folder;
  DirectPipeline with{.ring = small_ring(folder.path()), .phantom = water(folder.path(), false)};
  with.mu_map = mu_map_of(with.phantom, folder.path());
  with.events = 800'000;
  with.source = ", randoms_cps: 60000, delayeds: true";
  const auto mean_with = [&](const char* randoms) {
    with.deposit = randoms;
    const RunReport report = run_pipeline(with.direct(), folder.path());
    REQUIRE(report.exit_code == 0);
    CHECK(report.books.balanced());
    return mean_of_water(*last_image()->image);
  };
  CHECK(mean_with(", randoms: {from: delayeds}") == approx(water_Bq_mL).epsilon(0.02));
  CHECK(mean_with(", randoms: {from: rate, rate_cps: 60000}") == approx(water_Bq_mL).epsilon(0.02));
  REQUIRE(last_image()->quantity);
  CHECK((*last_image()->quantity)[Correction::randoms].state == CorrectionState::made);
  CHECK(mean_with("") > 1.05 * water_Bq_mL);
  CHECK((*last_image()->quantity)[Correction::randoms].state == CorrectionState::called_for);
}

TEST_CASE("histo_deposit refuses randoms that it cannot lay down in one line") {
  RingWithRandoms with({.seed = 3});
  const EventBatch events = with.simulator.next_events(2000).events;
  const auto refused = [&](const char* more, EventBatch batch, const char* words) {
    std::vector<EventBatch> batches;
    batches.push_back(std::move(batch));
    CHECK_THROWS_WITH(with.histo(more, std::move(batches)), doctest::Contains(words));
  };
  refused(", randoms: {from: rate}", EventBatch(events), "`from: rate` with `rate_cps`");
  refused(", randoms: {rate_cps: 10}", EventBatch(events), "`rate_cps` goes with `from: rate`");
  EventBatch windowless(events);
  windowless.tof.window_mm = 0;
  refused(", randoms: {from: rate, rate_cps: 10}", std::move(windowless), "how wide their coincidence window is");
  EventBatch timeless(events);
  timeless.duration_s = 0;
  refused(", randoms: {from: rate, rate_cps: 10}", std::move(timeless), "state no scan time");
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
