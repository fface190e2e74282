// Lattices of histo-images: where their points lie, and what sets of views a projector takes.
#include "tests/kernels/direct/direct_support.hpp"

using namespace tofstream;
using namespace tofstream::testing;

TEST_CASE("A view's lattice has its first axis along the view, and is turned about the image's centre") {
  Grid grid = Grid::centred(12, 12, 7, {4, 4, 3});
  grid.origin_mm = grid.origin_mm + Vec3{5, -8, 11};
  const ViewFrame frame = ViewFrame::of(33, 9);
  const DirectLattice lattice = DirectLattice::of(grid, HistoLattice::view, frame);
  CHECK(lattice.points() == grid.voxels());
  const Vec3d first = lattice.step(0);
  CHECK(std::abs(norm(first) - 4 / std::cos(9 * std::numbers::pi / 180)) < 1e-12);
  CHECK(norm(first - norm(first) * frame.direction()) < 1e-12);
  CHECK(norm(lattice.step(1) - Vec3d{-4 * frame.sin_f, 4 * frame.cos_f, 0}) < 1e-12);
  CHECK(norm(lattice.step(2) - Vec3d{0, 0, 3}) < 1e-12);
  CHECK(norm(0.5 * (lattice.position(0, 0, 3) + lattice.position(11, 11, 3)) - Vec3d{5, -8, 11}) < 1e-5);
}

TEST_CASE("Coordinates on a lattice of histo-images undo its positions") {
  const Grid grid = Grid::centred(9, 12, 5, {4, 5, 6});
  for (const HistoLattice kind : {HistoLattice::view, HistoLattice::image}) {
    const DirectLattice lattice = DirectLattice::of(grid, kind, ViewFrame::of(120, -7));
    for (const auto& [i, j, k] : {std::array{0, 0, 0}, std::array{3, 7, 2}, std::array{8, 11, 4}}) {
      const Vec3d at = lattice.coordinates(lattice.position(i, j, k));
      CHECK(norm(at - Vec3d{double(i), double(j), double(k)}) < 1e-12);
    }
  }
}

TEST_CASE("The image's own lattice is its voxels; a view's is as wide as the image's longer side") {
  Grid grid = Grid::centred(9, 12, 5, {4, 5, 6});
  grid.origin_mm = grid.origin_mm + Vec3{1, 2, 3};
  const DirectLattice image = DirectLattice::of(grid, HistoLattice::image, ViewFrame::of(120, -7));
  CHECK(norm(image.position(2, 11, 4) - grid.centre(2, 11, 4).as<double>()) < 1e-4);
  const DirectLattice view = DirectLattice::of(grid, HistoLattice::view, ViewFrame::of(120, -7));
  CHECK(view.size[0] == 15);  // 60 mm of 4 mm
  CHECK(view.size[1] == 15);
  CHECK(view.size[2] == 5);
}

TEST_CASE("A projector of histo-images refuses settings that cannot be, and says what to change") {
  const Grid grid = Grid::centred(16, 16, 8, {4, 4, 4});
  const DirectViews views{.azimuths = 3, .tilts = 1};
  const ViewSet on_view = direct_view_set(grid, views, HistoLattice::view);
  DirectSettings settings{.kernel = plain_kernel(12)};
  CHECK_NOTHROW(validate(grid, on_view, settings));
  const auto refused = [&](const DirectSettings& wrong, const char* message) {
    CHECK_THROWS_WITH_AS(validate(grid, on_view, wrong), message, std::invalid_argument);
  };
  DirectSettings wrong = settings;
  wrong.method = DirectOperator::one_stage;
  refused(wrong,
          "operator one_stage takes histo-images on the image's lattice: take lattice image, or operator two_stage");
  wrong.method = DirectOperator::fft;
  wrong.lattice = HistoLattice::image;
  wrong.kernel.radial = {{0, 5}, {50, 6}};
  refused(wrong,
          "operator fft needs one kernel for all voxels: give kernel.radial one width and no shift, or take operator "
          "one_stage");
  wrong = settings;
  wrong.kernel.radial = {{0, 4.7f}};
  refused(wrong,
          "kernel.radial of 4.7 mm FWHM is narrower than two_stage can sample (1.2 voxels, 4.8 mm): take operator "
          "one_stage");
  wrong = settings;
  wrong.kernel.tof_sigma_mm = 2;
  refused(wrong,
          "kernel.tof_sigma_mm of 2 mm is narrower than two_stage can sample on points 4 mm apart: take operator "
          "one_stage");
  wrong.kernel.tof_sigma_mm = 40;
  refused(wrong, "kernel.tof_sigma_mm: a kernel of 94.1928 mm FWHM is wider than the image's 64 mm");

  const Grid other = Grid::centred(17, 16, 8, {4, 4, 4});
  CHECK_THROWS_WITH_AS(
      validate(other, on_view, settings),
      "histo-images of 16 x 16 x 8 points of 4 x 4 x 4 mm, where the image asks for 17 x 17 x 8 of 4 x "
      "4 x 4 mm",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(validate(grid, circular_views(3, 16, 16), settings),
                       "direct_projector takes histo-images, and got views of a camera", std::invalid_argument);
  const auto projector = make_direct_projector(grid, on_view, settings, Backend::cpu);
  const ViewBatch strangers = view_batch(direct_view_set(grid, {.azimuths = 4, .tilts = 1}, HistoLattice::view));
  std::vector<float> image(static_cast<std::size_t>(grid.voxels()));
  std::vector<float> histo(static_cast<std::size_t>(strangers.count));
  CHECK_THROWS_AS(projector->forward(strangers.view(), image.data(), histo.data()), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
