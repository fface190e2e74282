// Lines through points of histo-images, and the points beside the body.
#include "kernels/direct/direct.hpp"
#include "kernels/direct/histo_lines.hpp"
#include "kernels/direct/histo_tails.hpp"
#include "tests/kernels/direct/direct_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

TEST_CASE(
    "The line through a point of a histo-image runs along its view, ends on the cylinder and has the point's ToF") {
  const DirectViews views{.azimuths = 7, .tilts = 3, .acceptance_deg = 12};
  const Grid grid = Grid::centred(12, 9, 5, {6, 6, 7});
  for (const HistoLattice kind : {HistoLattice::view, HistoLattice::image}) {
    const HistoLines lines(grid, views, kind, 150);
    for (int v = 0; v < views.count(); ++v) {
      const LinesOfPoints of_view(lines.of_view(v), Memory::host);
      const EventView events = of_view.events();
      REQUIRE(events.count == lines.points());
      const ViewFrame frame = ViewFrame::of(views.azimuth_deg(v), views.tilt_deg(v));
      const DirectLattice lattice = DirectLattice::of(grid, kind, frame);
      std::int64_t p = 0;
      for (int k = 0; k < lattice.size[2]; ++k)
        for (int j = 0; j < lattice.size[1]; ++j)
          for (int i = 0; i < lattice.size[0]; ++i, ++p) {
            const Lor lor = events.lor(p);
            const Vec3 along = lor.end2 - lor.end1;
            const Vec3 at = 0.5f * (lor.end1 + lor.end2) + (lor.tof_mm / norm(along)) * along;
            REQUIRE(norm(at - lattice.position(i, j, k).as<float>()) < 1e-3f);
            REQUIRE(std::hypot(lor.end1.x, lor.end1.y) == approx(150).epsilon(1e-5));
            REQUIRE(std::hypot(lor.end2.x, lor.end2.y) == approx(150).epsilon(1e-5));
            REQUIRE(view_of_line(views, along).view == v);
            REQUIRE_FALSE(view_of_line(views, along).is_turned);
          }
    }
  }
  CHECK_THROWS_WITH(HistoLines(grid, views, HistoLattice::view, 0), doctest::Contains("positive radius"));
}

TEST_CASE("Points beside the body lie on lines that miss it by the margin, and are no fewer than those") {
  const DirectViews views{.azimuths = 8, .tilts = 3, .acceptance_deg = 9};
  const Grid grid = Grid::centred(40, 40, 12, {6, 6, 6});
  Image mu = Image::zeros(Grid::centred(40, 40, 12, {5, 5, 5}), Memory::host);
  for (int k = 0; k < 12; ++k)
    for (int j = 0; j < 40; ++j)
      for (int i = 0; i < 40; ++i) {
        const Vec3 at = mu.grid.centre(i, j, k);
        if (std::hypot(at.x - 10, at.y) < 40 && std::abs(at.z) < 15) mu.voxels[mu.grid.index(i, j, k)] = 0.0096f;
      }
  const HistoTailsSettings settings{.margin_mm = 20, .tof_sigma_mm = 10};
  for (const HistoLattice kind : {HistoLattice::view, HistoLattice::image}) {
    const HistoTails tails(mu, grid, views, kind, settings);
    double expected_least = 0, found = 0;
    for (int v = 0; v < views.count(); ++v) {
      const ViewFrame frame = ViewFrame::of(views.azimuth_deg(v), views.tilt_deg(v));
      const DirectLattice lattice = DirectLattice::of(grid, kind, frame);
      const double middle = -frame.sin_f * 10;  // of the body
      std::vector<float> far(static_cast<std::size_t>(lattice.points())), near(far.size()), ones(far.size(), 1.0f);
      std::int64_t p = 0;
      for (int k = 0; k < lattice.size[2]; ++k)
        for (int j = 0; j < lattice.size[1]; ++j)
          for (int i = 0; i < lattice.size[0]; ++i, ++p) {
            const double s = std::abs(frame.s(lattice.position(i, j, k)) - middle);
            far[static_cast<std::size_t>(p)] = s > 40 + 20 + 4 * 10 * std::tan(0.197) + 18;
            near[static_cast<std::size_t>(p)] = s < 40 + 20 - 6 && std::abs(lattice.position(i, j, k).z) < 1;
          }
      for (const float value : far) expected_least += static_cast<double>(value);
      CHECK(tails.sum(v, far.data()) == std::accumulate(far.begin(), far.end(), 0.0));
      CHECK(tails.sum(v, near.data()) == 0);
      found += tails.sum(v, ones.data());
    }
    CHECK(expected_least > 0);
    CHECK(found == static_cast<double>(tails.points()));
  }
  CHECK_THROWS_WITH(HistoTails(Image::zeros(mu.grid, Memory::host), grid, views, HistoLattice::view, settings),
                    doctest::Contains("no matter"));
}

TEST_CASE("The views of a set of histo-images are those that it was made of; other sets are refused") {
  const Grid grid = Grid::centred(12, 9, 5, {6, 6, 7});
  for (const DirectViews& views : {DirectViews{}, DirectViews{1, 1, 5}, DirectViews{7, 4, 20}, DirectViews{1, 3, 9}}) {
    ViewSet set = direct_view_set(grid, views, HistoLattice::view);
    CHECK(direct_views_of(set) == views);
    set.places.front().angle_deg += 1;
    CHECK_THROWS_WITH(direct_views_of(set), doctest::Contains("as histo_deposit makes them"));
  }
  CHECK_THROWS_AS(direct_views_of(ViewSet{}), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
