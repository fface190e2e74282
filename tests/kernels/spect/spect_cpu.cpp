// The CPU's rotation projector against the reference in double precision, under every instruction set, and the same
// bits on any number of threads.
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include "tests/kernels/spect/spect_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

std::vector<SpectSettings> cpu_settings() {
  std::vector<SpectSettings> all = {
      {}, spread_settings(PsfForm::separable), table_settings(PsfForm::table), {.rotation = Rotation::conserving}};
  SpectSettings paper = table_settings(PsfForm::table);
  paper.adjoint = AdjointKind::paper;
  all.push_back(paper);
  all.push_back(spread_settings(PsfForm::separable));
  all.back().mu_per_mm = mu_cylinder(0.015f, 40, {4, 2, 0});
  all.back().counts_per_decay = 1e-4f;
  all.push_back(spread_settings(PsfForm::separable));
  all.back().rotation = Rotation::conserving;
  all.back().box = true;
  return all;
}

/// What a projector makes of the same numbers.
struct ViewResults {
  std::vector<float> forward, back, em;
  EmTally tally;
};

ViewResults results_of(ViewProjector& projector, const ViewSet& set) {
  ViewBatch batch = view_batch(set);
  const auto x = random_image(projector, 1), y = random_numbers(batch.count, 2);
  ViewResults results{
      forward_of(projector, batch, x), back_of(projector, batch, y), std::vector<float>(x.size(), 0.0f), {}};
  set_counts(batch, random_numbers(batch.count, 3, 0, 40));
  results.tally = projector.em_step(batch.view(), x.data(), results.em.data());
  return results;
}

struct CpuCase {
  Grid grid;
  ViewSet set;
  SpectSettings settings;
  ViewResults expected = results_of(*make_rotation_reference(grid, set, settings), set);

  void check(double tolerance) const {
    CAPTURE(static_cast<int>(settings.beam));
    CAPTURE(static_cast<int>(settings.form));
    CAPTURE(static_cast<int>(settings.rotation));
    CAPTURE(settings.mu_per_mm != nullptr);
    CAPTURE(grid.size[0]);
    const ViewResults found = results_of(*make_rotation_projector(grid, set, settings, Backend::cpu), set);
    const double forward = error_of_range(found.forward, expected.forward);
    const double back = error_of_range(found.back, expected.back);
    CHECK(forward < tolerance);
    CHECK(back < tolerance);
    // Where next to nothing is expected, what transforms make of it is rounding, and is left out.
    if (settings.form == PsfForm::fft) {
      for (const auto* numbers : {&found.forward, &found.back, &found.em})
        CHECK(std::ranges::all_of(*numbers, [](float x) { return std::isfinite(x) && x >= 0; }));
      return;
    }
    CHECK(error_of_range(found.em, expected.em) < 2 * tolerance);
    CHECK(found.tally.used == expected.tally.used);
    CHECK(found.tally.log_sum == approx(expected.tally.log_sum).epsilon(tolerance));
  }
};

}  // namespace

TEST_CASE("The CPU's rotation projector agrees with the reference to 1e-6 of the range under every instruction set") {
  const Grid grid = Grid::centred(18, 18, 9, {4, 4, 4});
  Grid off_axis = Grid::centred(15, 17, 8, {4, 5, 6});
  off_axis.origin_mm = off_axis.origin_mm + Vec3{6, -5, 7};
  ViewSet shifted = circular_views(5, 19, 12);
  for (std::size_t v = 0; v < 5; ++v) {
    shifted.places[v].centre_u_mm = -1.3f;
    shifted.places[v].centre_w_mm = v % 2 == 0 ? -2.5f : 3.5f;
    shifted.places[v].radius_mm = v < 3 ? 90.0f : 30.0f;
  }
  std::vector<CpuCase> cases;
  for (const Beam beam : {Beam::parallel, Beam::fan, Beam::cone})
    for (SpectSettings settings : cpu_settings()) {
      settings.beam = beam;
      settings.focal_mm = 300;
      cases.push_back({grid, circular_views(5, 22, 12), settings});
      cases.push_back({off_axis, shifted, settings});
    }
  for_each_instruction_set([&](const std::string&) {
    for (const CpuCase& one : cases) one.check(1e-6);
  });
}

TEST_CASE("Small voxels and other forms of the point spread agree with the reference") {
  const SpectSettings separable = spread_settings(PsfForm::separable);
  CpuCase{Grid::centred(20, 20, 8, {2.2f, 2.2f, 2.2f}), circular_views(12, 12, 6), separable}.check(1e-6);
  const Grid grid = Grid::centred(18, 18, 9, {4, 4, 4});
  for (const PsfForm form : {PsfForm::separable, PsfForm::incremental, PsfForm::fft})
    CpuCase{grid, circular_views(5, 14, 8), spread_settings(form)}.check(1e-5);
  SpectSettings table = table_settings(PsfForm::fft);
  CpuCase{grid, circular_views(5, 23, 13), table}.check(1e-5);
  table.adjoint = AdjointKind::paper;
  CpuCase{grid, circular_views(5, 23, 13), table}.check(1e-5);
}

TEST_CASE("The CPU's rotation projector gives the same bits on any number of threads") {
  const Grid grid = Grid::centred(21, 21, 9, {4, 4, 4});
  ViewSet set = circular_views(21, 24, 12);
  set.places[4].centre_w_mm = 2;
  ViewBatch batch = view_batch(set);
  set_counts(batch, random_numbers(batch.count, 3, 0, 40));
  const auto x = random_numbers(grid.voxels(), 1, 0.5f, 1);
  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, 16);
  for (const PsfForm form : {PsfForm::none, PsfForm::separable, PsfForm::incremental, PsfForm::fft}) {
    SpectSettings settings = spread_settings(form);
    settings.mu_per_mm = mu_cylinder(0.015f, 40);
    const auto on_threads = [&](int threads) {
      const auto projector = make_rotation_projector(grid, set, settings, Backend::cpu);
      std::vector<float> sum(x.size(), 0.0f);
      tbb::task_arena arena(threads);
      // Part of the views first, so that threads have worked on others before.
      const ViewBatch part = view_batch(batch.set, {5, 9, 2});
      std::vector<float> other(x.size(), 0.0f);
      arena.execute([&] {
        projector->back(part.view(), nullptr, other.data());
        projector->em_step(batch.view(), x.data(), sum.data());
      });
      return sum;
    };
    const auto one = on_threads(1);
    for (int again = 0; again < 20; ++again)
      for (const int threads : {2, 3, 16}) CHECK(same_bits(on_threads(threads), one));
  }
}
// SPDX-License-Identifier: Apache-2.0
