// A collimator's face inside the body of a mu map is found, and one beside it is not.
#include "kernels/spect/inside_body.hpp"
#include "tests/kernels/spect/spect_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

TEST_CASE("Views whose radius lies inside the body are found, the deepest first") {
  const auto body = mu_cylinder(0.0154f, 50);  // voxels of 3 mm: it reaches 48 mm along x and y
  ViewSet set = circular_views(36, 40, 16, 4, 60);
  CHECK_FALSE(views_inside_body(set, *body));
  set.places[9].radius_mm = 45;  // at 90 degrees
  set.places[18].radius_mm = 40;
  const auto found = views_inside_body(set, *body);
  REQUIRE(found);
  CHECK(found->views == 2);
  CHECK(found->view == 18);
  CHECK(found->reach_mm == approx(48).epsilon(0.03));
  set.places[18].radius_mm = 51;
  CHECK(views_inside_body(set, *body)->view == 9);
}

TEST_CASE("What is as thin as air, or beside what the view sees, is no body that a camera could lie in") {
  const ViewSet set = circular_views(36, 40, 16, 4, 40);
  CHECK(views_inside_body(set, *mu_cylinder(0.0154f, 50))->views == 36);
  CHECK_FALSE(views_inside_body(set, *mu_cylinder(0.004f, 50)));
  const ViewSet narrow = circular_views(4, 6, 16, 4, 40);    // sees 12 mm on each side of the axis
  const auto aside = mu_cylinder(0.0154f, 10, {50, 50, 0});  // seen by none of the four sides
  CHECK_FALSE(views_inside_body(narrow, *aside));
  ViewSet above = circular_views(36, 40, 4, 4, 40);
  for (ViewPlace& place : above.places) place.centre_w_mm = 100;  // the map reaches to 60 mm
  CHECK_FALSE(views_inside_body(above, *mu_cylinder(0.0154f, 50)));
}
// SPDX-License-Identifier: Apache-2.0
