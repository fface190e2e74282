// Random pairs of detectors: each in coincidence, its line through the image, its ToF bin where the line is inside.
#include "kernels/ring/simulate/chord.hpp"
#include "kernels/ring/simulate/random_pairs.hpp"
#include "kernels/ring/simulate/ring_scanner.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

RingScanner ring() {
  return {.inner_radius_mm = 200,
          .modules_transaxial = 12,
          .modules_axial = 3,
          .crystals_transaxial = 8,
          .crystals_axial = 8,
          .module_pitch_axial_mm = 32,
          .tof_fwhm_ps = 300,
          .tof_bins = 41,
          .tof_bin_ps = 50,
          .min_sector_difference = 2};
}

}  // namespace

TEST_CASE("random pairs are in coincidence, cross the image and have a ToF bin inside it") {
  const auto scanner = make_scanner(ring());
  const Grid grid = Grid::centred(40, 40, 20, {4, 4, 4});
  const EventBatch batch = random_pairs(scanner, grid, 5000, 3);
  const EventView events = batch.view();
  REQUIRE(events.count == 5000);
  const double bin = ring().tof_bin_mm();
  int left = 0;
  for (std::int64_t i = 0; i < events.count; ++i) {
    CHECK(batch.detector1[i] > batch.detector2[i]);
    CHECK(scanner->in_coincidence(batch.detector1[i], batch.detector2[i]));
    const Lor lor = events.lor(i);
    const Vec3d a = lor.end1.as<double>(), b = lor.end2.as<double>();
    const Chord chord = chord_in_box(grid, a, b);
    CHECK_FALSE(chord.empty());
    const double t = static_cast<double>(lor.tof_mm), length = norm(b - a);
    CHECK(t > (chord.from - 0.5) * length - 0.5 * bin - 1e-3);
    CHECK(t < (chord.to - 0.5) * length + 0.5 * bin + 1e-3);
    CHECK(t / bin == approx(std::round(t / bin)).epsilon(1e-4));  // an odd number of bins: 0 is a centre
    left += lor.tof_mm < 0;
  }
  CHECK(std::abs(left - 2500) < 250);
  CHECK(random_pairs(scanner, grid, 100, 3).detector1.to_vector() ==
        Buffer<std::uint32_t>::from(batch.detector1.span().first(100)).to_vector());
  CHECK(random_pairs(scanner, grid, 100, 4).detector1.to_vector() !=
        Buffer<std::uint32_t>::from(batch.detector1.span().first(100)).to_vector());
}

TEST_CASE("random pairs refuse a negative count and an image beside all lines") {
  const auto scanner = make_scanner(ring());
  CHECK_THROWS_AS(random_pairs(scanner, Grid::centred(4, 4, 4, {4, 4, 4}), -1, 1), std::invalid_argument);
  Grid beside = Grid::centred(4, 4, 4, {4, 4, 4});
  beside.origin_mm.z = 1000;
  CHECK_THROWS_AS(random_pairs(scanner, beside, 1, 1), std::runtime_error);
}
// SPDX-License-Identifier: Apache-2.0
