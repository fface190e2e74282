// Joseph's line integrals of an image of ones against values worked out by hand, with both edge rules.
#include "tests/kernels/ring/joseph_support.hpp"
#include "tests/support/approx.hpp"

namespace tofstream::testing {

namespace {

struct Ray {
  const char* what;
  Lor lor;
  double full, clipped;  // mm
};

const std::vector<Ray>& rays() {
  static const float nan = std::numeric_limits<float>::quiet_NaN();
  static const float inf = std::numeric_limits<float>::infinity();
  static const std::vector<Ray> all = {
      {"along x", {{-50, 0, 0}, {50, 0, 0}}, 16, 16},
      {"along x, reversed", {{50, 0, 0}, {-50, 0, 0}}, 16, 16},
      {"along y", {{1, -50, 2}, {1, 50, 2}}, 10, 10},
      {"along z", {{1, 0.5, -50}, {1, 0.5, 50}}, 24, 24},
      {"diagonal of x and y: planes across y", {{-50, -50, 1}, {50, 50, 1}}, 14.1421356237, 14.1421356237},
      {"x dominant, y slope 1/4", {{-40, -10, 0}, {40, 10, 0}}, 16.4924225025, 16.4924225025},
      {"x dominant, falling", {{40, -10, 4}, {-40, 10, -4}}, 16.5698521418, 16.5698521418},
      {"z dominant, slopes 1/4 and 1/8", {{-10, 5, -40}, {10, -5, 40}}, 24.9198715888, 24.9198715888},
      {"y dominant, z slope 1/2", {{1, -40, -20}, {1, 40, 20}}, 11.1803398875, 11.1803398875},
      {"a quarter voxel beyond the last centres", {{-50, 4.75, 0}, {50, 4.75, 0}}, 12, 12},
      {"in a side face", {{-50, 5, 0}, {50, 5, 0}}, 8, 8},
      {"just outside a side face", {{-50, 5.25, 0}, {50, 5.25, 0}}, 4, 0},
      {"along an edge", {{-50, 5, 12}, {50, 5, 12}}, 4, 4},
      {"just outside an edge", {{-50, 5.25, 13}, {50, 5.25, 13}}, 1, 0},
      {"one voxel beyond the last centres", {{-50, 5.5, 0}, {50, 5.5, 0}}, 0, 0},
      {"misses, parallel", {{-50, 7, 0}, {50, 7, 0}}, 0, 0},
      {"misses, oblique", {{-50, 20, 0}, {50, 9, 10}}, 0, 0},
      {"misses, beyond its end", {{20, 0, 0}, {50, 0, 0}}, 0, 0},
      {"starts inside", {{0.5, 0, 0}, {50, 0, 0}}, 8, 8},
      {"ends inside", {{-50, 0, 0}, {0.5, 0, 0}}, 8, 8},
      // The plane at the end belongs to the line; the clipped rule drops the lower of both.
      {"starts on a plane", {{1, 0, 0}, {50, 0, 0}}, 8, 6},
      {"ends on a plane", {{-50, 0, 0}, {1, 0, 0}}, 10, 10},
      {"inside, across one plane", {{0.5, 0, 0}, {1.5, 0, 0}}, 2, 2},
      {"inside, between planes", {{0.1f, 0, 0}, {0.9f, 0, 0}}, 0, 0},
      // Crosses y = 4.5 at x = 0, rising by 1/8: voxels beyond count 7/8, 5/8, 3/8, 1/8 of a step.
      {"leaves by a side face", {{-40, -0.5, 0}, {40, 9.5, 0}}, 12.0933866224, 11.0856044039},
      {"no length", {{1, 1, 1}, {1, 1, 1}}, 0, 0},
      {"not a number", {{nan, 0, 0}, {50, 0, 0}}, 0, 0},
      {"infinite", {{-inf, 0, 0}, {50, 0, 0}}, 0, 0},
      {"infinitely far sideways", {{-50, inf, 0}, {50, inf, 0}}, 0, 0},
  };
  return all;
}

void check_rays(ListModeProjector& projector, JosephSettings::Edge edge) {
  std::vector<Lor> lors;
  for (const Ray& ray : rays()) lors.push_back(ray.lor);
  const std::vector<float> sums = forward_of(projector, batch_of(lors), ones(box()));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double expected = edge == JosephSettings::Edge::full ? rays()[i].full : rays()[i].clipped;
    INFO(rays()[i].what);
    CHECK(static_cast<double>(sums[i]) == approx(expected).epsilon(1e-6));
  }
}

}  // namespace

TEST_CASE("Joseph's reference gives each ray's sum by hand") {
  for (const auto edge : {JosephSettings::Edge::full, JosephSettings::Edge::clipped})
    check_rays(*make_joseph_reference(box(), {edge}), edge);
}

TEST_CASE("Joseph on the CPU gives each ray's sum by hand, with every instruction set") {
  for_each_instruction_set([](const std::string&) {
    for (const auto edge : {JosephSettings::Edge::full, JosephSettings::Edge::clipped})
      check_rays(*make_joseph_projector(box(), {edge}, Backend::cpu), edge);
  });
}

TEST_CASE("One Joseph weight is the step times the bilinear fractions") {
  // Planes across x; in the plane x = 1 (index 4) the line crosses y = 0.75, z = 3.
  std::vector<float> image(static_cast<std::size_t>(box().voxels()), 0.0f);
  const EventBatch batch = batch_of({{{-39, -9.25f, -17}, {41, 10.75f, 23}}});
  const double step = 2 * std::sqrt(1 + 1.0 / 16 + 1.0 / 4);
  // y = 0.75 lies 0.25 above the centre 0.5 (index 5), z = 3 at 0.25 of the way from 2 (index 3).
  const struct {
    int j, k;
    double fraction;
  } voxels[] = {{5, 3, 0.75 * 0.75}, {6, 3, 0.25 * 0.75}, {5, 4, 0.75 * 0.25}, {6, 4, 0.25 * 0.25}};
  const auto reference = make_joseph_reference(box(), {});
  for (const auto& voxel : voxels) {
    auto& cell = image[static_cast<std::size_t>(box().index(4, voxel.j, voxel.k))];
    cell = 1;
    CHECK(static_cast<double>(forward_of(*reference, batch, image)[0]) == approx(step * voxel.fraction).epsilon(1e-6));
    cell = 0;
  }
}

TEST_CASE("Joseph takes images of one voxel along any axis") {
  for (const auto& [nx, ny, nz] : {std::tuple{1, 5, 6}, {5, 1, 6}, {5, 6, 1}, {1, 1, 4}, {1, 1, 1}}) {
    const Grid grid = Grid::centred(nx, ny, nz, {2, 2, 2});
    const EventBatch batch = events_through(grid, 500, {}, 3);
    const auto image = random_numbers(grid.voxels(), 1), values = random_numbers(500, 2);
    const Projections expected = project(*make_joseph_reference(grid, {}), batch, image, values);
    for_each_instruction_set([&](const std::string&) {
      const Projections actual = project(*make_joseph_projector(grid, {}, Backend::cpu), batch, image, values);
      CHECK(error_of_range(actual.forward, expected.forward) < 1e-5);
      if (grid.voxels() == 1) return;  // an image of one voxel has no range
      CHECK(error_of_range(actual.back, expected.back) < 1e-5);
      CHECK(error_of_range(actual.em, expected.em) < 1e-5);
    });
  }
}

TEST_CASE("Joseph refuses settings and grids that it cannot serve") {
  JosephSettings settings;
  settings.tof_cut_sigma = 0;
  CHECK_THROWS_WITH(make_joseph_projector(box(), settings, Backend::cpu),
                    doctest::Contains("ToF cut must be finite and positive"));
  CHECK_THROWS_WITH(make_joseph_projector(Grid::centred(2048, 2048, 512, {1, 1, 1}), {}, Backend::cpu),
                    doctest::Contains("fewer than 2^31 voxels"));
  CHECK_THROWS_AS(make_joseph_reference(Grid::centred(0, 1, 1, {1, 1, 1}), {}), std::invalid_argument);
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
