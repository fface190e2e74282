// A^T is the transpose of A: for every beam, form of the point spread, attenuation and geometry; in double precision
// to 1e-12, in float to 1e-5.
#include "tests/kernels/spect/spect_support.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

struct AdjointCase {
  std::string name;
  Grid grid;
  ViewSet set;
  std::vector<int> views;
};

std::vector<AdjointCase> geometries() {
  std::vector<AdjointCase> cases;
  const Grid usual = Grid::centred(10, 10, 6, {4, 4, 4});
  cases.push_back({"even", usual, circular_views(7, 10, 6), {0, 3, 5}});
  cases.push_back({"odd", Grid::centred(9, 9, 5, {4, 4, 4}), circular_views(6, 9, 5), {1, 2, 4, 5}});
  cases.push_back({"unequal", Grid::centred(12, 9, 7, {4, 5, 6}), circular_views(5, 8, 9), {3, 0}});
  cases.push_back({"small voxels", Grid::centred(14, 14, 9, {2.3f, 2.3f, 2.3f}), circular_views(5, 8, 5), {4, 4, 1}});
  cases.push_back({"small detector", usual, circular_views(5, 5, 3), {0, 3}});
  Grid off_axis = usual;
  off_axis.origin_mm = off_axis.origin_mm + Vec3{3, -5, 7};
  ViewSet shifted = circular_views(6, 11, 7);
  for (std::size_t v = 0; v < 6; ++v) {
    shifted.places[v].centre_u_mm = 1.7f;
    shifted.places[v].centre_w_mm = v % 2 == 0 ? -2.5f : 3.5f;
    shifted.places[v].radius_mm = v < 3 ? 90.0f : 20.0f;  // the second lies within the image
  }
  cases.push_back({"shifted", off_axis, shifted, {0, 1, 4}});
  return cases;
}

std::vector<SpectSettings> models() {
  std::vector<SpectSettings> models = {{},
                                       spread_settings(PsfForm::separable),
                                       spread_settings(PsfForm::incremental),
                                       table_settings(PsfForm::table),
                                       table_settings(PsfForm::fft)};
  for (std::size_t m = 0, n = models.size(); m < n; ++m) {
    models.push_back(models[m]);
    models.back().mu_per_mm = mu_cylinder(0.015f, 25, {4, 2, 0});
  }
  models.push_back({.rotation = Rotation::conserving});
  models.push_back({.rotation = Rotation::conserving, .box = true});
  return models;
}

/// Calls check(case, settings) for all that can be.
template <class Check>
void for_each_adjoint(const Check& check) {
  for (const AdjointCase& one : geometries())
    for (const Beam beam : {Beam::parallel, Beam::fan, Beam::cone})
      for (SpectSettings settings : models()) {
        settings.beam = beam;
        settings.focal_mm = 300;
        CAPTURE(one.name);
        CAPTURE(static_cast<int>(beam));
        CAPTURE(static_cast<int>(settings.form));
        CAPTURE(settings.mu_per_mm != nullptr);
        CAPTURE(static_cast<int>(settings.rotation));
        const bool is_table = std::holds_alternative<KernelTable>(settings.psf);
        if (is_table && one.name == "small voxels") continue;  // refused
        check(one, settings);
      }
}

}  // namespace

TEST_CASE("The reference's back projection is its forward projection's transpose to 1e-12") {
  for_each_adjoint([&](const AdjointCase& one, const SpectSettings& settings) {
    const RotationReference reference(one.grid, one.set, settings);
    const ViewBatch batch = view_batch(one.set, one.views);
    const auto x = random_numbers(one.grid.voxels(), 1), y = random_numbers(batch.count, 2);
    const std::vector<double> wide_x(x.begin(), x.end()), wide_y(y.begin(), y.end());
    const double forward = inner(reference.forward(batch.view(), wide_x), y);
    const double back = inner(x, reference.back(batch.view(), wide_y));
    CHECK(std::abs(forward / back - 1) < 1e-12);
  });
}

TEST_CASE("The CPU's back projection of views is its forward projection's transpose to 1e-5") {
  for_each_adjoint([&](const AdjointCase& one, const SpectSettings& settings) {
    const auto projector = make_rotation_projector(one.grid, one.set, settings, Backend::cpu);
    const ViewBatch batch = view_batch(one.set, one.views);
    const auto x = random_numbers(one.grid.voxels(), 1), y = random_numbers(batch.count, 2);
    const double forward = inner(forward_of(*projector, batch, x), y);
    const double back = inner(x, back_of(*projector, batch, y));
    CHECK(std::abs(forward / back - 1) < 1e-5);
  });
}

TEST_CASE("The paper's pair of projectors is no transpose, but near to one") {
  const Grid grid = Grid::centred(16, 16, 6, {4, 4, 4});
  const ViewSet set = circular_views(9, 20, 8);
  const ViewBatch batch = view_batch(set);
  SpectSettings settings = spread_settings(PsfForm::separable);
  settings.adjoint = AdjointKind::paper;
  const auto projector = make_rotation_projector(grid, set, settings, Backend::cpu);
  const auto x = random_image(*projector, 1), y = random_numbers(batch.count, 2);
  const double ratio = inner(forward_of(*projector, batch, x), y) / inner(x, back_of(*projector, batch, y));
  CHECK(std::abs(ratio - 1) > 1e-6);
  CHECK(std::abs(ratio - 1) < 0.05);
}
// SPDX-License-Identifier: Apache-2.0
