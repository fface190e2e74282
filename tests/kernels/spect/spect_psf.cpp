// The point spread: its width by depth, holes' formula, forms that agree, asymmetric kernels the right way round, and
// what is refused.
#include "kernels/spect/psf.hpp"
#include "tests/kernels/spect/spect_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

TEST_CASE("A Gaussian widens a point's image by the variance of its depth, at every angle") {
  const Grid grid = Grid::centred(32, 32, 20, {4, 4, 4});
  const ViewSet set = circular_views(8, 48, 40);
  const SpectSettings settings = spread_settings(PsfForm::separable);
  const auto sharp = make_rotation_projector(grid, set, {}, Backend::cpu);
  const auto blurred = make_rotation_projector(grid, set, settings, Backend::cpu);
  constexpr double blob_mm = 6, radius_mm = 100, slope = 0.04;
  for (const double near_mm : {-40.0, -20.0, 0.0, 20.0, 40.0})
    for (int view = 0; view < 8; ++view) {
      const double t = view * std::numbers::pi / 4;
      const Vec3 at = Vec3d{near_mm * std::sin(t), near_mm * std::cos(t), 1}.as<float>();
      const std::vector<float> image = blob_image(grid, at, blob_mm);
      const ViewBatch batch = view_batch(set, {view});
      const ViewMoments with = moments_of(forward_of(*blurred, batch, image), set, 0);
      const ViewMoments without = moments_of(forward_of(*sharp, batch, image), set, 0);
      // The blob has a depth too.
      const double variance =
          std::pow(psf_sigma_mm(settings.psf, radius_mm - near_mm), 2) + std::pow(slope * blob_mm, 2);
      CHECK(with.variance_u - without.variance_u == approx(variance).epsilon(0.01));
      CHECK(with.variance_w - without.variance_w == approx(variance).epsilon(0.01));
      CHECK(with.counts == approx(without.counts).epsilon(1e-4));
    }
}

TEST_CASE("Holes spread as Anger's formula says") {
  const HolesPsf lehr{
      .hole_mm = 1.11f, .length_mm = 24.05f, .septa_mu_per_mm = 2.4f, .gap_mm = 4, .intrinsic_mm = 1.6f};
  const double length = 24.05 - 2 / 2.4, fwhm = 1.11 * (length + 4 + 100) / length;
  CHECK(psf_sigma_mm(lehr, 100) == approx(std::hypot(fwhm / fwhm_per_sigma, 1.6)).epsilon(1e-6));
  CHECK(psf_sigma_mm({}, 100) == 0);
}

TEST_CASE("All forms of a Gaussian agree to 1e-5 of the maximum") {
  const Grid grid = Grid::centred(20, 20, 9, {4, 4, 4});
  const ViewSet set = circular_views(5, 22, 10);
  const ViewBatch batch = view_batch(set);
  const auto x = random_numbers(grid.voxels(), 1), y = random_numbers(batch.count, 2);
  const auto separable = make_rotation_projector(grid, set, spread_settings(PsfForm::separable), Backend::cpu);
  const auto forward = forward_of(*separable, batch, x), back = back_of(*separable, batch, y);
  for (const PsfForm form : {PsfForm::incremental, PsfForm::table, PsfForm::fft}) {
    CAPTURE(static_cast<int>(form));
    const auto other = make_rotation_projector(grid, set, spread_settings(form), Backend::cpu);
    CHECK(error_of_range(forward_of(*other, batch, x), forward) < 1e-5);
    CHECK(error_of_range(back_of(*other, batch, y), back) < 1e-5);
  }
}

TEST_CASE("A table's kernels appear around a point as they are given, linear between depths") {
  const Grid grid = Grid::centred(9, 9, 9, {4, 4, 4});
  const ViewSet set = circular_views(4, 9, 9);
  std::vector<float> image(static_cast<std::size_t>(grid.voxels()));
  image[static_cast<std::size_t>(grid.index(4, 4, 4))] = 1;  // on the axis: depth 100, between 20 and 180
  const KernelTable table = lopsided_table();
  for (const PsfForm form : {PsfForm::table, PsfForm::fft}) {
    const auto projector = make_rotation_projector(grid, set, table_settings(form), Backend::cpu);
    for (int view = 0; view < 4; ++view) {
      const auto seen = forward_of(*projector, view_batch(set, {view}), image);
      for (int j = 0; j < 3; ++j)
        for (int i = 0; i < 5; ++i) {
          const auto at = static_cast<std::size_t>(j * 5 + i);
          const double expected = 0.5 * (double{table.values[at]} + double{table.values[at + 15]}) * 0.064;
          CHECK(std::abs(double{seen[static_cast<std::size_t>((4 + j - 1) * 9 + 4 + i - 2)]} - expected) < 1e-7);
        }
    }
  }
}

TEST_CASE("Point spreads that cannot be are refused in one line") {
  const Grid grid = Grid::centred(9, 9, 9, {4, 4, 4});
  const ViewSet set = circular_views(4, 9, 9);
  const auto refused = [&](const char* words, const SpectSettings& settings) {
    CHECK_THROWS_WITH_AS(make_rotation_projector(grid, set, settings, Backend::cpu), doctest::Contains(words),
                         std::invalid_argument);
  };
  refused("psf.slope", {.psf = GaussianPsfModel{.slope = -1}, .form = PsfForm::separable});
  refused("psf.hole_mm", {.psf = HolesPsf{}, .form = PsfForm::separable});
  refused("psf.length_mm", {.psf = HolesPsf{.hole_mm = 1, .length_mm = 1, .septa_mu_per_mm = 1}, .form = PsfForm::fft});
  refused("needs a point spread", {.form = PsfForm::separable});
  refused("need a Gaussian", table_settings(PsfForm::separable));
  KernelTable table = lopsided_table();
  table.values.pop_back();
  refused("29 values", {.psf = table, .form = PsfForm::table});
  table = lopsided_table();
  table.depths_mm = {20, 20};
  refused("ascend", {.psf = table, .form = PsfForm::table});
  table = lopsided_table();
  table.across = 4;
  refused("odd size", {.psf = table, .form = PsfForm::table});
  refused("focal_mm", {.beam = Beam::fan});
  refused("beyond its focus", {.beam = Beam::fan, .focal_mm = 110});
  refused("counts_per_decay", {.counts_per_decay = 0});
}
// SPDX-License-Identifier: Apache-2.0
