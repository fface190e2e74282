// Deposit of events: everything that comes in is deposited or rejected by reason, and a point source lands where it is.
#include "kernels/direct/deposit.hpp"
#include "tests/kernels/direct/direct_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

/// A line through a point along a view's direction, to a cylinder's radius or so on both sides; its ToF is the point's.
Lor line_through(Vec3d at, Vec3d along, double before_mm, double behind_mm) {
  return {(at - before_mm * along).as<float>(), (at + behind_mm * along).as<float>(),
          static_cast<float>(0.5 * (before_mm - behind_mm))};
}

const Grid direct_deposit_grid = Grid::centred(24, 24, 12, {4, 4, 4});
const DirectViews direct_deposit_views{.azimuths = 7, .tilts = 3, .acceptance_deg = 15};

}  // namespace

TEST_CASE("A point source off the axis lands where it is in every view, whichever way its lines run") {
  const Vec3d at = {13.7, -21.3, 5.1};
  std::vector<Lor> lors;
  for (int v = 0; v < direct_deposit_views.count(); ++v) {
    const Vec3d n = ViewFrame::of(direct_deposit_views.azimuth_deg(v), direct_deposit_views.tilt_deg(v)).direction();
    lors.push_back(line_through(at, n, 300, 250));
    lors.push_back(line_through(at, -1.0 * n, 200, 400));
  }
  const EventBatch events = batch_of(lors, {.sigma_mm = 20});
  for (const HistoLattice kind : {HistoLattice::view, HistoLattice::image})
    for (const DepositKind how : {DepositKind::nearest, DepositKind::linear}) {
      const HistoDeposit deposit(direct_deposit_grid, direct_deposit_views, kind, how);
      std::vector<float> histo(static_cast<std::size_t>(deposit.points()));
      CHECK(deposit.add(events.view(), histo.data()) == DepositTally{.deposited = lors.size()});
      for (int v = 0; v < direct_deposit_views.count(); ++v) {
        CAPTURE(v);
        const ViewFrame frame = ViewFrame::of(direct_deposit_views.azimuth_deg(v), direct_deposit_views.tilt_deg(v));
        const DirectLattice lattice = DirectLattice::of(direct_deposit_grid, kind, frame);
        const FrameMoments moments = frame_moments(histo.data() + v * lattice.points(), lattice, frame);
        CHECK(moments.sum == approx(2).epsilon(1e-6));
        const Vec3d off = moments.mean - Vec3d{frame.t(at), frame.s(at), frame.z(at)};
        const double most_mm = how == DepositKind::linear ? 0.1 : 0.9 * 4;  // nearest: half a voxel's diagonal
        CHECK(norm(off) < most_mm);
      }
    }
}

TEST_CASE("An event that lies half a point less the last bit from a lattice of one point counts at it") {
  const DirectLattice lattice = DirectLattice::of(Grid::centred(1, 1, 1, {4, 4, 4}), HistoLattice::image, {});
  const float edge = std::nextafter(0.5f, 0.0f);
  for (const DepositKind how : {DepositKind::nearest, DepositKind::linear}) {
    float sum = 0;
    for_each_deposit(lattice, PlacedEvent{0, {edge, edge, edge}}, how, [&](std::int64_t point, float weight) {
      CHECK(point == 0);
      sum += weight;
    });
    CHECK(sum == approx(1));
  }
}

TEST_CASE("Direct events deposited and rejected are all events, each with its reason") {
  std::vector<Lor> lors;
  const auto numbers = random_numbers(6 * 3000, 5, -1, 1);
  for (std::size_t i = 0; i + 6 <= numbers.size(); i += 6) {
    Lor lor;
    for (int axis = 0; axis < 3; ++axis) {
      const float reach_mm = axis == 2 ? 40.0f : 120.0f;
      lor.end1.set(axis, reach_mm * numbers[i + static_cast<std::size_t>(axis)]);
      lor.end2.set(axis, reach_mm * numbers[i + 3 + static_cast<std::size_t>(axis)]);
    }
    lor.tof_mm = 30 * numbers[i];
    lors.push_back(lor);
  }
  lors.push_back({{5, 5, 5}, {5, 5, 5}, 0});
  lors.push_back({{5, 5, 5}, {NAN, 5, 5}, 0});
  lors.push_back({{5, 5, 5}, {-100, 5, 5}, INFINITY});
  const EventBatch events = batch_of(lors, {.sigma_mm = 20});
  for (const HistoLattice kind : {HistoLattice::view, HistoLattice::image})
    for (const DepositKind how : {DepositKind::nearest, DepositKind::linear}) {
      const HistoDeposit deposit(direct_deposit_grid, direct_deposit_views, kind, how);
      std::vector<float> histo(static_cast<std::size_t>(deposit.points()));
      std::vector<std::uint64_t> of_views(static_cast<std::size_t>(direct_deposit_views.count()), 1);
      const DepositTally tally = deposit.add(events.view(), histo.data(), of_views.data());
      CHECK(tally.deposited + tally.rejected() == lors.size());
      for (std::size_t v = 0; v < of_views.size(); ++v) {
        const auto points = std::ssize(histo) / std::ssize(of_views);
        const auto begin = histo.begin() + static_cast<std::ptrdiff_t>(v) * points;
        CHECK(std::accumulate(begin, begin + points, 1.0) == approx(static_cast<double>(of_views[v])).epsilon(1e-6));
      }
      CHECK(tally.no_line == 3);
      CHECK(tally.beyond_acceptance > 100);
      CHECK(tally.outside > 50);
      CHECK(tally.deposited > 300);
      double sum = 0;
      for (const float value : histo) sum += double{value};
      CHECK(sum == approx(static_cast<double>(tally.deposited)).epsilon(1e-6));
    }
}

TEST_CASE("Direct deposit in parts gives the same bits as at once") {
  std::vector<Lor> lors;
  const auto numbers = random_numbers(3 * 2000, 7, -1, 1);
  for (std::size_t i = 0; i < 2000; ++i) {
    const int v = static_cast<int>(i) % direct_deposit_views.count();
    const Vec3d n = ViewFrame::of(direct_deposit_views.azimuth_deg(v), direct_deposit_views.tilt_deg(v)).direction();
    const Vec3d at = {30 * double{numbers[3 * i]}, 30 * double{numbers[3 * i + 1]}, 15 * double{numbers[3 * i + 2]}};
    lors.push_back(line_through(at, n, 300, 250));
  }
  const EventBatch events = batch_of(lors, {.sigma_mm = 20});
  const HistoDeposit deposit(direct_deposit_grid, direct_deposit_views, HistoLattice::view, DepositKind::linear);
  std::vector<float> whole(static_cast<std::size_t>(deposit.points())), parts = whole;
  const DepositTally all = deposit.add(events.view(), whole.data());
  DepositTally tally = deposit.add(events.view().slice(0, 700), parts.data());
  tally += deposit.add(events.view().slice(700, 1300), parts.data());
  CHECK(tally == all);
  CHECK(all.deposited == 2000);
  CHECK(same_bits(whole, parts));
}

TEST_CASE("Direct deposit refuses events without ToF") {
  const HistoDeposit deposit(direct_deposit_grid, direct_deposit_views, HistoLattice::view, DepositKind::nearest);
  std::vector<float> histo(static_cast<std::size_t>(deposit.points()));
  const EventBatch events = batch_of({{{-100, 0, 0}, {100, 0, 0}, 0}});
  CHECK_THROWS_WITH_AS(deposit.add(events.view(), histo.data()),
                       "histo-images need events with ToF: reconstruct others from list mode", std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
