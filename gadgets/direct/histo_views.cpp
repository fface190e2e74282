// Histo-images as views of events, for doors without a pipeline.
#include <algorithm>

#include "gadgets/direct/histo_randoms.hpp"
#include "gadgets/direct/histo_terms.hpp"
#include "gadgets/step/event_views.hpp"
#include "kernels/direct/deposit.hpp"
#include "kernels/direct/direct.hpp"

namespace tofstream {
namespace {

DirectViews direct_views_of(const EventDirections& directions) {
  return {directions.azimuths, directions.tilts, directions.acceptance_deg};
}
HistoLattice lattice_of(const EventDirections& directions) {
  return directions.on_image ? HistoLattice::image : HistoLattice::view;
}

ViewSet histo_set(const Grid& grid, const EventDirections& directions) {
  return direct_view_set(grid, direct_views_of(directions), lattice_of(directions));
}

LaidDown lay_down_events(const Grid& grid, const EventDirections& directions, const EventView& events, bool nearest,
                         float* counts, Backend backend, Stream stream) {
  const DirectViews views = direct_views_of(directions);
  const DepositKind kind = nearest ? DepositKind::nearest : DepositKind::linear;
  DepositTally tally;
  if (backend == Backend::cuda) {
    HistoDepositCuda histo(grid, views, lattice_of(directions), kind);
    tally = histo.add(events, nullptr, stream);
    histo.copy_counts(0, views.count(), counts, stream);
    synchronize(stream);
  } else {
    const HistoDeposit histo(grid, views, lattice_of(directions), kind);
    std::fill_n(counts, histo.points(), 0.0f);
    tally = histo.add(events, counts);
  }
  const auto whole = [](std::uint64_t count) { return static_cast<std::int64_t>(count); };
  return {whole(tally.deposited), whole(tally.beyond_acceptance), whole(tally.outside), whole(tally.no_line)};
}

LinesOfViews terms_of_lines(const Grid& grid, const EventDirections& directions, const Scanner& scanner,
                            const ScannerLinesSettings& settings, float* terms, Context& context) {
  const HistoTerms made =
      histo_terms(grid, direct_views_of(directions), lattice_of(directions), scanner, settings, context);
  std::ranges::copy(made.values.span(), terms);
  return {made.lines.all, made.lines.drawn, made.accepted};
}

void lay_down_randoms(const Grid& grid, const EventDirections& directions, const RandomsOfViews& given, float* counts,
                      Context& context) {
  HistoRandoms randoms(
      {.from = given.delayeds ? HistoRandomsFrom::delayeds : HistoRandomsFrom::rate, .rate_cps = given.rate_cps});
  randoms.begin(given.scanner);
  if (given.delayeds) randoms.take_delayeds(*given.delayeds, context);
  randoms.note_window({.window_mm = given.window_mm});
  const HistoPlace place{.grid = grid,
                         .views = direct_views_of(directions),
                         .lattice = lattice_of(directions),
                         .most_lines = given.most_lines};
  const Buffer<float> made = randoms.lay_down(place, given.seconds, context);
  std::ranges::copy(made.span(), counts);
}

TOFSTREAM_KIND(EventViews, EventViews{.name = "histo_images",
                                      .set_of = histo_set,
                                      .lay_down = lay_down_events,
                                      .terms = terms_of_lines,
                                      .randoms = lay_down_randoms});

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
