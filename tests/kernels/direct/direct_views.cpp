// Views of DIRECT: their directions and frames, which view a line belongs to, and what is refused.
#include "tests/kernels/direct/direct_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

TEST_CASE("A direct view's axes are at right angles and of unit length, t along its direction") {
  for (const double f : {2.25, 93.0, 177.75})
    for (const double q : {-6.0, 0.0, 30.0}) {
      const ViewFrame frame = ViewFrame::of(f, q);
      const Vec3d n = frame.direction();
      const Vec3d s = {-frame.sin_f, frame.cos_f, 0};
      const Vec3d z = {n.y * s.z - n.z * s.y, n.z * s.x - n.x * s.z, n.x * s.y - n.y * s.x};  // n x s
      const Vec3d at = 3.0 * n + 5.0 * s + (-7.0) * z;
      CHECK(norm(n) == approx(1).epsilon(1e-14));
      CHECK(std::abs(dot(n, s)) < 1e-15);
      CHECK(frame.t(at) == approx(3).epsilon(1e-12));
      CHECK(frame.s(at) == approx(5).epsilon(1e-12));
      CHECK(frame.z(at) == approx(-7).epsilon(1e-12));
    }
}

TEST_CASE("A line along a direct view's direction belongs to it; turned around, it is the same view's") {
  const DirectViews views{.azimuths = 40, .tilts = 3, .acceptance_deg = 10};
  for (int v = 0; v < views.count(); ++v) {
    const Vec3 n = ViewFrame::of(views.azimuth_deg(v), views.tilt_deg(v)).direction().as<float>();
    const DirectLine along = view_of_line(views, 0.3f * n), against = view_of_line(views, -700.0f * n);
    CHECK(along.view == v);
    CHECK_FALSE(along.is_turned);
    CHECK(against.view == v);
    CHECK(against.is_turned);
  }
}

TEST_CASE("Direct views divide half a turn and the acceptance evenly; what is steeper has no view") {
  const DirectViews views{.azimuths = 6, .tilts = 2, .acceptance_deg = 12};
  const auto line = [&](double f_deg, double q_deg) {
    return view_of_line(views, ViewFrame::of(f_deg, q_deg).direction().as<float>());
  };
  CHECK(views.azimuth_deg(7) == 45);
  CHECK(views.tilt_deg(7) == 6);
  CHECK(line(29.9, -1).view == 0);
  CHECK(line(30.1, -1).view == 1);
  CHECK(line(179.9, 1).view == 11);
  CHECK(line(30.1, 11.9).view == 7);
  CHECK(line(30.1, 12.1).view == -1);
  CHECK(line(30.1, -12.1).view == -1);
  // At 180 degrees a line is turned, and so is its tilt.
  CHECK(view_of_line(views, {-1, 0, 0.1f}).view == 0);
  CHECK(view_of_line(views, {-1, 0, 0.1f}).is_turned);
  CHECK(view_of_line(views, {1, 0, 0.1f}).view == 6);
  CHECK(view_of_line(views, {0, 0, 1}).view == -1);
}

TEST_CASE("Direct views that cannot be are refused") {
  CHECK_THROWS_WITH_AS(validate(DirectViews{.azimuths = 0}), "views.azimuths must be in [1, 4096], not 0",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(validate(DirectViews{.azimuths = 2048, .tilts = 3}),
                       "views.tilts must be in [1, 2], so that there are at most 4096 views, not 3",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(validate(DirectViews{.acceptance_deg = 90}), "acceptance_deg must be in (0, 80], not 90",
                       std::invalid_argument);
  CHECK_THROWS_AS(validate(DirectViews{.acceptance_deg = NAN}), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
