// The deposit's blur in the kernel: a projection then has the widths that deposited events have.
#include <random>

#include "kernels/direct/deposit.hpp"
#include "tests/kernels/direct/direct_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

constexpr double blurred_tof_mm = 14, blurred_across_mm = 2.8;  // sigma of the events about a point

/// Events about the image's centre along one view, as far from it as the kernel says, along the view and across it.
EventBatch events_about_centre(const ViewFrame& frame, int count) {
  std::mt19937 random(20);
  std::normal_distribution<double> normal;
  const Vec3d along = frame.direction(), across = {-frame.sin_f, frame.cos_f, 0},
              axial = {-frame.cos_f * frame.sin_q, -frame.sin_f * frame.sin_q, frame.cos_q};
  std::vector<Lor> lors;
  for (int i = 0; i < count; ++i) {
    const Vec3d at = blurred_tof_mm * normal(random) * along + blurred_across_mm * normal(random) * across +
                     blurred_across_mm * normal(random) * axial;
    lors.push_back({(at - 300.0 * along).as<float>(), (at + 300.0 * along).as<float>(), 0});
  }
  return batch_of(lors, {.sigma_mm = static_cast<float>(blurred_tof_mm)});
}

}  // namespace

TEST_CASE("With the deposit's blur the kernel of DIRECT has the widths of deposited events, on either lattice") {
  const Grid grid = Grid::centred(41, 41, 21, {4, 4, 4});
  const DirectViews views{.azimuths = 8, .tilts = 3, .acceptance_deg = 15};
  const auto fwhm_mm = static_cast<float>(blurred_across_mm * fwhm_per_sigma);
  const DirectKernel kernel{
      .tof_sigma_mm = static_cast<float>(blurred_tof_mm), .radial = {{0, fwhm_mm}}, .axial_fwhm_mm = fwhm_mm};
  for (const HistoLattice kind : {HistoLattice::view, HistoLattice::image})
    for (const DepositKind how : {DepositKind::nearest, DepositKind::linear})
      for (const int view : {3, 17}) {
        CAPTURE(static_cast<int>(kind));
        CAPTURE(static_cast<int>(how));
        CAPTURE(view);
        const HistoDeposit deposit(grid, views, kind, how);
        std::vector<float> histo(static_cast<std::size_t>(deposit.points()));
        const ViewFrame frame = ViewFrame::of(views.azimuth_deg(view), views.tilt_deg(view));
        deposit.add(events_about_centre(frame, 400'000).view(), histo.data());
        const DirectLattice lattice = DirectLattice::of(grid, kind, frame);
        const FrameMoments counts = frame_moments(histo.data() + view * lattice.points(), lattice, frame);

        const DirectKernel blurred = with_deposit(kernel, deposit_variance(how), grid.voxel_mm);
        const DirectMethod method{"two_stage", DirectOperator::two_stage, kind};
        const DirectCase here(grid, views, blurred, method.method, kind);
        const auto projected =
            direct_forward(*here.projector(), view_batch(here.set, {view}), points_image(grid, {{20, 20, 10}}));
        const FrameMoments expected = frame_moments(projected.data(), lattice, frame);
        CHECK(counts.sigma.x == approx(expected.sigma.x).epsilon(0.01));
        CHECK(counts.sigma.y == approx(expected.sigma.y).epsilon(0.01));
        CHECK(counts.sigma.z == approx(expected.sigma.z).epsilon(0.01));
        // Without the blur the kernel is too narrow by far more than that.
        CHECK(blurred_across_mm < 0.96 * counts.sigma.y);
      }
}

TEST_CASE("The deposit's blur widens each Gaussian of DIRECT's kernel, moves none, and is refused with a table") {
  DirectKernel kernel = plain_kernel(20);
  kernel.parts = {{1, 1, 0}, {1, 2, 1}};
  const DirectKernel blurred = with_deposit(kernel, deposit_variance(DepositKind::linear), {6, 6, 3});
  const RadialProfiles sharp(kernel, 100), wide(blurred, 100);
  REQUIRE(wide.count() == sharp.count());
  for (int a = 0; a < sharp.count(); ++a)
    for (std::size_t part = 0; part < 2; ++part) {
      CHECK(wide[a][part].centre_mm == sharp[a][part].centre_mm);
      CHECK(wide[a][part].sigma_mm == approx(std::hypot(sharp[a][part].sigma_mm, 6 / std::sqrt(6.0))));
    }
  CHECK(blurred.tof_sigma_mm == approx(std::hypot(20, 6 / std::sqrt(6.0))));
  CHECK(blurred.axial_fwhm_mm == approx(std::hypot(6.5, 3 / std::sqrt(6.0) * fwhm_per_sigma)));
  kernel.table = {.offset_step_mm = 2, .rows = {{1, 2, 1}}};
  CHECK_THROWS_WITH_AS(with_deposit(kernel, deposit_variance(DepositKind::linear), {4, 4, 4}),
                       doctest::Contains("put the deposit's blur into its values"), std::invalid_argument);
  CHECK_NOTHROW(validate(blurred));
  kernel.table = {};
  kernel.radial_blur_mm = -1;
  CHECK_THROWS_WITH_AS(validate(kernel), doctest::Contains("kernel.radial_blur_mm must be at least 0"),
                       std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
