// Kernels that vary and lean: forward a voxel is spread by its own kernel, back a point is seen with the width of the
// place that sees it (Ha et al. 2013, figures 6 and 7).
#include "tests/kernels/direct/direct_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

/// A view along y: s = -x. On the image's lattice s is then a voxel's coordinate, for both operators.
struct DirectShapes {
  Grid grid = Grid::centred(41, 41, 9, {4, 4, 4});
  DirectViews views{.azimuths = 1, .tilts = 1, .acceptance_deg = 10};
};

/// Radial sigma and third moment (mm, mm^3) of a projection about its centroid.
struct RadialShape {
  double mean = 0, sigma = 0, third = 0;
};
RadialShape radial_shape(const std::vector<float>& values, const DirectLattice& lattice, const ViewFrame& frame) {
  RadialShape shape;
  const FrameMoments moments = frame_moments(values.data(), lattice, frame);
  shape.mean = moments.mean.y;
  shape.sigma = moments.sigma.y;
  for (int k = 0; k < lattice.size[2]; ++k)
    for (int j = 0; j < lattice.size[1]; ++j)
      for (int i = 0; i < lattice.size[0]; ++i)
        shape.third += double{values[static_cast<std::size_t>(lattice.index(i, j, k))]} / moments.sum *
                       std::pow(frame.s(lattice.position(i, j, k)) - shape.mean, 3);
  return shape;
}

}  // namespace

TEST_CASE("A variant kernel spreads a voxel by the width at its radius, and sees a point with the width at its own") {
  const DirectShapes shapes;
  DirectKernel kernel = plain_kernel(12);
  kernel.radial = {{0, 7}, {80, 15}};  // 0.1 mm a mm
  for (const DirectMethod& method : direct_methods(kernel)) {
    CAPTURE(method.name);
    const DirectCase here(shapes.grid, shapes.views, kernel, method.method, method.lattice);
    const ViewBatch batch = view_batch(here.set);
    const auto projector = here.projector();
    for (const int x : {8, 20, 30}) {
      const auto point = points_image(here.grid, {{x, 20, 4}});
      const double s = 4 * std::abs(x - 20.0);
      const RadialShape forward =
          radial_shape(direct_forward(*projector, batch, point), here.lattice(0), here.frame(0));
      CHECK(forward.mean == approx(-4 * (x - 20.0)).epsilon(1e-3));
      CHECK(forward.sigma == approx((7 + 0.1 * s) / fwhm_per_sigma).epsilon(0.02));
    }
    // On the view's lattice a point of the histo-image lies at another voxel of the image.
    const DirectLattice lattice = here.lattice(0);
    const Vec3d at = lattice.coordinates(here.grid.centre(8, 20, 4).as<double>());
    std::vector<float> histo(static_cast<std::size_t>(batch.count));
    histo[static_cast<std::size_t>(lattice.index(static_cast<int>(std::lround(at.x)),
                                                 static_cast<int>(std::lround(at.y)),
                                                 static_cast<int>(std::lround(at.z))))] = 1;
    const auto back = direct_back(*projector, batch, histo);
    // At 4 voxels to both sides of the point: Gaussians of the widths there.
    for (const int dx : {-4, 4}) {
      const double sigma = (7 + 0.1 * 4 * std::abs(8 + dx - 20.0)) / fwhm_per_sigma;
      const double centre = (7 + 0.1 * 48) / fwhm_per_sigma;
      const double expected = centre / sigma * std::exp(-0.5 * std::pow(16 / sigma, 2));
      const auto value = [&](int x) { return double{back[static_cast<std::size_t>(here.grid.index(x, 20, 4))]}; };
      CHECK(value(8 + dx) / value(8) == approx(expected).epsilon(0.02));
    }
  }
}

TEST_CASE("An asymmetric kernel's tail points to the axis forward on both sides, and away from it back") {
  const DirectShapes shapes;
  for (const NamedKernel& one : direct_kernels(12)) {
    if (one.kernel.is_symmetric()) continue;
    for (const DirectMethod& method : direct_methods(one.kernel)) {
      CAPTURE(one.name);
      CAPTURE(method.name);
      const DirectCase here(shapes.grid, shapes.views, one.kernel, method.method, method.lattice);
      const ViewBatch batch = view_batch(here.set);
      const auto projector = here.projector();
      for (const int x : {10, 30}) {
        const auto point = points_image(here.grid, {{x, 20, 4}});
        const double side = x < 20 ? 1 : -1;  // of s = -x
        const RadialShape forward =
            radial_shape(direct_forward(*projector, batch, point), here.lattice(0), here.frame(0));
        CHECK(side * forward.third < -1);
        CHECK(side * forward.mean < 40 - 0.5);
        // The histo-image's point at the same place: turned by a quarter, its lattice is the image's mirrored.
        const Vec3d at = here.lattice(0).coordinates(here.grid.centre(x, 20, 4).as<double>());
        std::vector<float> histo(static_cast<std::size_t>(batch.count));
        histo[static_cast<std::size_t>(
            here.lattice(0).index(static_cast<int>(std::lround(at.x)), static_cast<int>(std::lround(at.y)), 4))] = 1;
        const DirectLattice voxels = DirectLattice::of(here.grid, HistoLattice::image, {});
        const RadialShape back = radial_shape(direct_back(*projector, batch, histo), voxels, here.frame(0));
        CHECK(side * back.third > 1);
        CHECK(side * back.mean > 40 + 0.5);
      }
    }
  }
}
// SPDX-License-Identifier: Apache-2.0
