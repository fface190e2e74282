// Events that are spread over their ToF bins, and counts of 16 bits: sums, widths, refusals, CUDA against the CPU.
#include "kernels/direct/deposit.hpp"
#include "kernels/types/float_counts.hpp"
#include "tests/kernels/direct/direct_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

const Grid forms_grid = Grid::centred(40, 40, 14, {4, 4, 4});
const DirectViews forms_views{.azimuths = 6, .tilts = 3, .acceptance_deg = 12};
constexpr float forms_bin_mm = 36;

/// Lines through a point along each view, its ToF in the middle of a bin.
EventBatch events_at(Vec3d at) {
  std::vector<Lor> lors;
  for (int v = 0; v < forms_views.count(); ++v) {
    const Vec3d n = ViewFrame::of(forms_views.azimuth_deg(v), forms_views.tilt_deg(v)).direction();
    lors.push_back({(at - 200.0 * n).as<float>(), (at + 300.0 * n).as<float>(), -50});
  }
  return batch_of(lors, {.sigma_mm = 20, .bin_width_mm = forms_bin_mm});
}

EventBatch scattered_events() {
  std::vector<Lor> lors;
  const auto numbers = random_numbers(6 * 50000, 5, -1, 1);
  for (std::size_t i = 0; i + 6 <= numbers.size(); i += 6)
    lors.push_back({{120 * numbers[i], 120 * numbers[i + 1], 40 * numbers[i + 2]},
                    {120 * numbers[i + 3], 120 * numbers[i + 4], 40 * numbers[i + 5]},
                    30 * numbers[i]});
  return batch_of(lors, {.sigma_mm = 20, .bin_width_mm = forms_bin_mm});
}

}  // namespace

TEST_CASE(
    "An event that is spread over its ToF bin counts once, at its place, as wide as the bin along the view alone") {
  const Vec3d at = {9.3, -14.2, 2.1};
  const EventBatch events = events_at(at);
  for (const HistoLattice kind : {HistoLattice::view, HistoLattice::image}) {
    const HistoDeposit deposit(forms_grid, forms_views, kind, DepositKind::linear, DepositSpread::tof_bin);
    std::vector<float> histo(static_cast<std::size_t>(deposit.points()));
    CHECK(deposit.add(events.view(), histo.data()).deposited == static_cast<std::uint64_t>(events.count));
    for (int v = 0; v < forms_views.count(); ++v) {
      CAPTURE(v);
      const ViewFrame frame = ViewFrame::of(forms_views.azimuth_deg(v), forms_views.tilt_deg(v));
      const DirectLattice lattice = DirectLattice::of(forms_grid, kind, frame);
      const FrameMoments moments = frame_moments(histo.data() + v * lattice.points(), lattice, frame);
      CHECK(moments.sum == approx(1).epsilon(1e-5));
      CHECK(norm(moments.mean - Vec3d{frame.t(at), frame.s(at), frame.z(at)}) < 0.2);
      CHECK(moments.sigma.x == approx(static_cast<double>(forms_bin_mm) / std::sqrt(12.0)).epsilon(0.04));
      CHECK(moments.sigma.y < 2.1);  // half a voxel: linear interpolation's
    }
  }
}

TEST_CASE("What is spread beyond the lattice counts within it, and an event outside is rejected as without spread") {
  for (const Vec3d at : {Vec3d{79, 79, 27}, Vec3d{-79, 20, -27}, Vec3d{0, 0, 0}, Vec3d{200, 0, 0}}) {
    const EventBatch events = events_at(at);
    DepositTally tallies[2];
    for (const DepositSpread spread : {DepositSpread::none, DepositSpread::tof_bin}) {
      const HistoDeposit deposit(forms_grid, forms_views, HistoLattice::image, DepositKind::nearest, spread);
      std::vector<float> histo(static_cast<std::size_t>(deposit.points()));
      DepositTally& tally = tallies[static_cast<int>(spread)];
      tally = deposit.add(events.view(), histo.data());
      CHECK(std::accumulate(histo.begin(), histo.end(), 0.0) ==
            approx(static_cast<double>(tally.deposited)).epsilon(1e-5));
    }
    CHECK(tallies[0] == tallies[1]);
  }
}

TEST_CASE(
    "Counts of 16 bits are those of floats for whole events; they are refused where a point has more, or shares") {
  const EventBatch events = scattered_events();
  const HistoDeposit deposit(forms_grid, forms_views, HistoLattice::view, DepositKind::nearest);
  std::vector<float> floats(static_cast<std::size_t>(deposit.points()));
  std::vector<std::uint16_t> whole(floats.size());
  const DepositTally tally = deposit.add(events.view(), floats.data());
  CHECK(deposit.add(events.view(), whole.data()) == tally);
  CHECK(tally.deposited > 1000);
  CHECK(std::ranges::equal(floats, whole, [](float a, std::uint16_t b) { return a == static_cast<float>(b); }));

  const std::vector<Lor> alike(65'535, Lor{{-200, 0, 0}, {200, 1, 0}, 0});
  const EventBatch many = batch_of(alike, {.sigma_mm = 20});
  std::vector<std::uint16_t> full(floats.size());
  CHECK(deposit.add(many.view(), full.data()).deposited == 65'535);
  CHECK(*std::ranges::max_element(full) == 65'535);
  const EventBatch one = batch_of({alike.front()}, {.sigma_mm = 20});
  CHECK_THROWS_WITH(deposit.add(one.view(), full.data()), doctest::Contains("more than 65535 counts"));
  const HistoDeposit shares(forms_grid, forms_views, HistoLattice::view, DepositKind::linear);
  CHECK_THROWS_WITH(shares.add(events.view(), whole.data()), doctest::Contains("take deposit nearest without spread"));
}

TEST_CASE("Spread events and counts of 16 bits on a GPU are those on the CPU") {
  if (!gpu_or_skip()) return;
  const EventBatch events = scattered_events(), there = events.to(Memory::device);
  for (const DepositKind kind : {DepositKind::nearest, DepositKind::linear}) {
    const HistoDeposit on_cpu(forms_grid, forms_views, HistoLattice::view, kind, DepositSpread::tof_bin);
    std::vector<float> expected(static_cast<std::size_t>(on_cpu.points()));
    const DepositTally tally = on_cpu.add(events.view(), expected.data());
    HistoDepositCuda on_gpu(forms_grid, forms_views, HistoLattice::view, kind, DepositSpread::tof_bin);
    on_gpu.add(there.view());
    const auto found = on_gpu.counts().to_vector();
    double apart = 0;
    for (std::size_t i = 0; i < found.size(); ++i)
      apart += std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
    // A piece that lies between two points may be rounded to either.
    CHECK(apart < 1e-3 * static_cast<double>(tally.deposited) + 12);
  }
  HistoDepositCuda real(forms_grid, forms_views, HistoLattice::view, DepositKind::nearest),
      whole(forms_grid, forms_views, HistoLattice::view, DepositKind::nearest, DepositSpread::none, HistoCounts::whole);
  CHECK(real.add(there.view()) == whole.add(there.view()));
  CHECK(whole.counts().to_vector() == real.counts().to_vector());
  std::vector<std::uint16_t> one_view(static_cast<std::size_t>(whole.points() / forms_views.count()));
  whole.copy_whole_counts(7, 1, one_view.data(), Memory::host);
  synchronize(nullptr);
  const auto all = real.counts().to_vector();
  for (std::size_t p = 0; p < one_view.size(); ++p)
    CHECK(static_cast<float>(one_view[p]) == all[7 * one_view.size() + p]);
  const std::vector<Lor> alike(65'536, Lor{{-200, 0, 0}, {200, 1, 0}, 0});
  const EventBatch many = batch_of(alike, {.sigma_mm = 20}).to(Memory::device);
  CHECK_THROWS_WITH(whole.add(many.view()), doctest::Contains("more than 65535 counts"));
}

TEST_CASE("Views with counts of 16 bits become views with floats") {
  const DirectCase here(Grid::centred(6, 5, 4, {4, 4, 4}), {.azimuths = 3, .tilts = 1}, plain_kernel(12),
                        DirectOperator::two_stage, HistoLattice::image);
  ViewBatch batch = view_batch(here.set);
  batch.whole_counts = Buffer<std::uint16_t>(Memory::host, batch.count);
  for (std::int64_t i = 0; i < batch.count; ++i) batch.whole_counts[i] = static_cast<std::uint16_t>(7 * i);
  CHECK(batch.has_counts());
  const std::size_t bytes = batch.bytes();
  const ViewBatch floats = with_float_counts(batch);
  CHECK(floats.bytes() == bytes + 2 * static_cast<std::size_t>(batch.count));
  CHECK(floats.whole_counts.empty());
  for (std::int64_t i = 0; i < batch.count; ++i) CHECK(floats.counts[i] == static_cast<float>(7 * i));
}
// SPDX-License-Identifier: Apache-2.0
