// Fan and cone beams against the integral over a Gaussian source: counts grow and images are magnified towards the
// focus.
#include "tests/kernels/spect/spect_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

constexpr double focal_mm = 350, radius_mm = 120, blob_mm = 9;

/// Mean of g(d, u) over a Gaussian around the point at depth d0 and u0.
template <class Value>
double mean_over_blob(double d0, double u0, const Value& value) {
  double sum = 0, weights = 0;
  for (int i = -60; i <= 60; ++i)
    for (int j = -60; j <= 60; ++j) {
      const double a = 0.1 * i, b = 0.1 * j, weight = std::exp(-(a * a + b * b) / 2);
      sum += weight * value(d0 + a * blob_mm, u0 + b * blob_mm);
      weights += weight;
    }
  return sum / weights;
}

}  // namespace

TEST_CASE("Converging beams have the counts and centroids of the integral over the source") {
  const Grid grid = Grid::centred(36, 36, 24, {4, 4, 4});
  const ViewSet set = circular_views(8, 64, 48, 4, static_cast<float>(radius_mm));
  const Vec3 at = {18, -27, 8};
  const std::vector<float> image = blob_image(grid, at, blob_mm);
  const double total = sum_of(image) * 0.064;
  for (const Beam beam : {Beam::fan, Beam::cone}) {
    CAPTURE(static_cast<int>(beam));
    const auto projector =
        make_rotation_projector(grid, set, {.beam = beam, .focal_mm = static_cast<float>(focal_mm)}, Backend::cpu);
    const auto views = forward_of(*projector, view_batch(set), image);
    const int power = beam == Beam::fan ? 1 : 2;
    for (int v = 0; v < 8; ++v) {
      const double t = v * std::numbers::pi / 4;
      const double d = radius_mm - (18 * std::sin(t) - 27 * std::cos(t)), u = -18 * std::cos(t) - 27 * std::sin(t);
      const auto gain = [](double depth) { return focal_mm / (focal_mm - depth); };
      const double counts = mean_over_blob(d, u, [&](double depth, double) { return std::pow(gain(depth), power); });
      const double centroid =
          mean_over_blob(d, u, [&](double depth, double off) { return off * std::pow(gain(depth), power + 1); }) /
          counts;
      const double along = beam == Beam::fan ? 8.0 : mean_over_blob(d, u, [&](double depth, double) {
                                                       return 8 * std::pow(gain(depth), 3);
                                                     }) / counts;
      const ViewMoments moments = moments_of(views, set, v);
      CHECK(moments.counts / total == approx(counts).epsilon(1e-3));
      CHECK(std::abs(moments.u - centroid) < 0.05 * 4);
      CHECK(std::abs(moments.w - along) < 0.05 * 4);
    }
  }
}

TEST_CASE("A focus that is far away gives a parallel beam") {
  const Grid grid = Grid::centred(20, 20, 8, {4, 4, 4});
  const ViewSet set = circular_views(7, 20, 8);
  const ViewBatch batch = view_batch(set);
  for (const PsfForm form : {PsfForm::none, PsfForm::separable}) {
    SpectSettings settings = spread_settings(form);
    settings.mu_per_mm = mu_cylinder(0.012f, 30);
    const auto image = random_numbers(grid.voxels(), 5);
    const auto parallel = forward_of(*make_rotation_projector(grid, set, settings, Backend::cpu), batch, image);
    settings.focal_mm = 1e9f;
    for (const Beam beam : {Beam::fan, Beam::cone}) {
      settings.beam = beam;
      const auto far = forward_of(*make_rotation_projector(grid, set, settings, Backend::cpu), batch, image);
      CHECK(error_of_range(far, parallel) < 1e-5);
    }
  }
}
// SPDX-License-Identifier: Apache-2.0
