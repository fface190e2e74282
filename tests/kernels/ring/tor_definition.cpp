// The TOR projector's definition in the double-precision reference: weights against the closed form
// by hand, the chord of a uniform image, ToF bins that add up, exact adjoints.
#include <numbers>
#include <random>

#include "kernels/project/reference.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "tests/kernels/line_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

struct Reference {
  std::unique_ptr<ListModeProjector> projector;
  ReferenceProjector& operator*() const { return dynamic_cast<ReferenceProjector&>(*projector); }
  ReferenceProjector* operator->() const { return &**this; }
};

Reference reference(const Grid& grid, const RadialResponse& response) {
  return {make_tor_reference(grid, {response})};
}

std::vector<double> ones_on(const Grid& grid) {
  return std::vector<double>(static_cast<std::size_t>(grid.voxels()), 1.0);
}

/// Projection of an image that is 1 in one voxel.
double weight(const Grid& grid, const RadialResponse& response, const Lor& lor, TofModel tof, int x, int y, int z) {
  std::vector<double> image(static_cast<std::size_t>(grid.voxels()), 0.0);
  image[static_cast<std::size_t>(grid.index(x, y, z))] = 1;
  const EventBatch events = batch_of({{lor}}, tof);
  return reference(grid, response)->forward(events.view(), image)[0];
}

}  // namespace

TEST_CASE("a TOR weight is V f(r) times the share of ToF's Gaussian in the bin, by hand") {
  const Grid grid = Grid::centred(9, 9, 9, {2, 3, 4});
  const auto f = RadialResponse::gaussian(6, 9);
  const double sigma2 = 36 / (8 * std::numbers::ln2);
  const double peak = 1 / (2 * std::numbers::pi * sigma2 * -std::expm1(-81 / (2 * sigma2)));
  // Along y, off the axis by (1, 0, 2) mm; voxel (5, 6, 5) has its centre at (2, 6, 4).
  const Lor along_y{{1, -100, 2}, {1, 100, 2}, 10};
  const double r2 = 1 + 4;
  const double expected = 24 * peak * std::exp(-r2 / (2 * sigma2));
  CHECK(weight(grid, f, along_y, {}, 5, 6, 5) == approx(expected).epsilon(1e-6));
  const double mass = std::erf(3 / std::numbers::sqrt2);
  const auto share = [&](double width) {  // of a bin about t = 10, seen from 4 mm before it, sigma 20 mm
    const double r = 1 / (20 * std::numbers::sqrt2);
    return (std::erf((-4 + width / 2) * r) - std::erf((-4 - width / 2) * r)) / (2 * mass);
  };
  CHECK(weight(grid, f, along_y, {20, 0}, 5, 6, 5) == approx(expected * share(1)).epsilon(1e-6));
  CHECK(weight(grid, f, along_y, {20, 7}, 5, 6, 5) == approx(expected * share(7)).epsilon(1e-6));
  CHECK(weight(grid, f, along_y, {20, 40}, 5, 6, 5) == approx(expected * share(40)).epsilon(1e-6));

  // Oblique: through the origin along (1, 2, 2) / 3; voxel (6, 4, 5) lies at (4, 0, 4).
  const Lor oblique{{-100, -200, -200}, {100, 200, 200}, 0};
  const double u = (4 + 8) / 3.0, r2_oblique = 32 - u * u;
  CHECK(weight(grid, f, oblique, {}, 6, 4, 5) ==
        approx(24 * peak * std::exp(-r2_oblique / (2 * sigma2))).epsilon(1e-6));
}

TEST_CASE("a TOR ends at its radius, at the LOR's ends and half a bin beyond three sigma of ToF") {
  const Grid grid = Grid::centred(9, 9, 9, {4, 4, 4});
  const auto f = RadialResponse::table({1, 1}, 6);
  const Lor lor{{0, 0, -10}, {0, 0, 10}, 5};
  CHECK(weight(grid, f, lor, {}, 5, 5, 4) > 0);       // r = 5.66
  CHECK(weight(grid, f, lor, {}, 6, 4, 4) == 0);      // r = 8
  CHECK(weight(grid, f, lor, {}, 4, 4, 6) > 0);       // z = 8
  CHECK(weight(grid, f, lor, {}, 4, 4, 7) == 0);      // z = 12, beyond the detector
  CHECK(weight(grid, f, lor, {2, 0}, 4, 4, 6) > 0);   // 3 mm from the ToF centre
  CHECK(weight(grid, f, lor, {2, 0}, 4, 4, 3) == 0);  // 9 mm from it
}

TEST_CASE("a positive ToF lies nearer detector 2") {
  const Grid grid = Grid::centred(1, 1, 21, {4, 4, 4});
  const auto f = RadialResponse::gaussian(4, 6);
  CHECK(weight(grid, f, {{0, 0, -100}, {0, 0, 100}, 30}, {10, 0}, 0, 0, 17) >
        25 * weight(grid, f, {{0, 0, -100}, {0, 0, 100}, 30}, {10, 0}, 0, 0, 11));
  CHECK(weight(grid, f, {{0, 0, 100}, {0, 0, -100}, 30}, {10, 0}, 0, 0, 3) >
        25 * weight(grid, f, {{0, 0, 100}, {0, 0, -100}, 30}, {10, 0}, 0, 0, 9));
}

TEST_CASE("a uniform image gives the chord in mm within 1 percent, whatever the tube's width") {
  const Grid grid = Grid::centred(80, 80, 80, {2, 2, 2});
  std::mt19937 engine(5);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> near(-4, 4);
  for (const float width : {3.0f, 5.0f, 9.0f}) {
    for (const auto& f : {RadialResponse::gaussian(0.86f * width, width), RadialResponse::kaiser_bessel(6, width)}) {
      std::vector<Lor> lors;
      for (int i = 0; i < 8; ++i) {
        // Long enough to be averaged over many slices, short enough to end inside the image.
        const Vec3 raw{normal(engine), normal(engine), normal(engine)};
        const Vec3 d = (1 / norm(raw)) * raw;
        const Vec3 middle{near(engine), near(engine), near(engine)};
        lors.push_back({middle - 60.0f * d, middle + 60.0f * d, 0});
      }
      const EventBatch events = batch_of(lors);
      for (const double chord : reference(grid, f)->forward(events.view(), ones_on(grid)))
        CHECK(chord == approx(120).epsilon(0.01));
    }
  }
}

TEST_CASE("along an axis a uniform image gives the chord within the bounds that conventions.md says") {
  const Grid grid = Grid::centred(24, 60, 24, {4, 4, 4});
  const std::vector<float> image(static_cast<std::size_t>(grid.voxels()), 1.0f);
  struct Bound {
    float width_voxels;
    double most;
  };
  for (const auto [width, most] : {Bound{2, 0.34}, Bound{3, 0.06}, Bound{5, 0.02}, Bound{15, 0.003}}) {
    CAPTURE(width);
    std::vector<Lor> lors;
    for (int i = 0; i <= 20; ++i)  // of a voxel's quarter, which repeats in all others
      for (int j = 0; j <= 20; ++j) {
        const float x = 2 + 0.1f * static_cast<float>(i), z = 2 + 0.1f * static_cast<float>(j);
        lors.push_back({{x, -300, z}, {x, 300, z}, 0});
      }
    const float radius = 2 * width;
    const auto projector = make_tor_projector(grid, {RadialResponse::gaussian(0.86f * radius, radius)}, Backend::cpu);
    double worst = 0;
    for (const float chord : forward_of(*projector, batch_of(lors), image))
      worst = std::max(worst, std::abs(static_cast<double>(chord) / 240 - 1));
    CHECK(worst < most);
    CHECK(worst > 0.3 * most);  // the bound is not too loose
  }
}

TEST_CASE("normalised by slices, a uniform image gives the chord on every line, however narrow the tube") {
  const Grid grid = Grid::centred(40, 44, 36, {4, 4, 4});
  const auto image = ones_on(grid);
  const std::vector<float> image_on_cpu(image.begin(), image.end());
  std::mt19937 engine(3);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> offset(-2, 2), slope(-0.3f, 0.3f);
  std::vector<Lor> lors;
  std::vector<double> lengths;
  const auto add = [&](Vec3 through, Vec3 along) {  // it leaves the image by the end faces of its predominant axis
    const Vec3 size = Vec3{std::abs(along.x), std::abs(along.y), std::abs(along.z)};
    const int axis = size.x >= size.y && size.x >= size.z ? 0 : (size.y >= size.z ? 1 : 2);
    lors.push_back({through - (400 / norm(along)) * along, through + (400 / norm(along)) * along, 0});
    lengths.push_back(4.0 * grid.size[axis] * static_cast<double>(norm(along) / size[axis]));
  };
  for (int axis = 0; axis < 3; ++axis)
    for (int i = 0; i < 12; ++i) {
      Vec3 along{};
      along.set(axis, 1);
      const Vec3 through{offset(engine), offset(engine), offset(engine)};
      add(through, along);                                                  // along an axis
      add(through, along + Vec3{0.05f * slope(engine), slope(engine), 0});  // oblique
      add(through, along + Vec3{slope(engine), slope(engine), slope(engine)});
    }
  add({2, 2, 2}, {1, 0, 0});  // between four voxels, none of which a tube one voxel wide would meet
  const EventBatch events = batch_of(lors);
  for (const float width : {1.42f, 2.0f, 3.0f, 5.0f}) {
    CAPTURE(width);
    for (const auto& f : {RadialResponse::gaussian(1.72f * width, 2 * width), RadialResponse::gaussian(1.7f, 2 * width),
                          RadialResponse::kaiser_bessel(6, 2 * width)}) {
      const TorSettings settings{.response = f, .normalise = Normalise::slice};
      const auto exact = Reference {
        make_tor_reference(grid, settings)
        } -> forward(events.view(), image);
      const auto fast = forward_of(*make_tor_projector(grid, settings, Backend::cpu), events, image_on_cpu);
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        CHECK(exact[i] == approx(lengths[i]).epsilon(1e-6));
        CHECK(static_cast<double>(fast[i]) == approx(lengths[i]).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("a slice is normalised as if the image went on where the tube leaves it") {
  const Grid whole = Grid::centred(16, 16, 16, {4, 4, 4});
  Grid part = Grid::centred(16, 6, 16, {4, 4, 4});
  part.origin_mm = whole.origin_mm;
  const TorSettings settings{.response = RadialResponse::gaussian(4, 6), .normalise = Normalise::slice};
  // Along the face of the part, where half of the tube lies beside it.
  const EventBatch events = batch_of({{{-200, -8.3f, 1}, {200, -8.9f, 2}, 0}});
  std::vector<double> inside(static_cast<std::size_t>(whole.voxels()), 0.0);
  for (int z = 0; z < 16; ++z)
    for (int y = 0; y < 6; ++y)
      for (int x = 0; x < 16; ++x) inside[static_cast<std::size_t>(whole.index(x, y, z))] = 1;
  const double expected = Reference {
    make_tor_reference(whole, settings)
    } -> forward(events.view(), inside)[0];
  CHECK(expected < 50);
  CHECK(Reference { make_tor_reference(part, settings) }
        -> forward(events.view(), ones_on(part))[0] == approx(expected).epsilon(1e-12));
  const std::vector<float> image(static_cast<std::size_t>(part.voxels()), 1.0f);
  CHECK(static_cast<double>(forward_of(*make_tor_projector(part, settings, Backend::cpu), events, image)[0]) ==
        approx(expected).epsilon(1e-5));
}

TEST_CASE("slices that cannot be normalised are refused in one line") {
  const Grid grid = Grid::centred(8, 8, 8, {4, 4, 4});
  const auto refused = [&](const Grid& of, const TorSettings& settings, const char* why) {
    CHECK_THROWS_WITH_AS(make_tor_projector(of, settings, Backend::cpu), doctest::Contains(why), std::invalid_argument);
    CHECK_THROWS_WITH_AS(make_tor_reference(of, settings), doctest::Contains(why), std::invalid_argument);
  };
  CHECK(least_slice_radius_mm(grid) == approx(4 / std::numbers::sqrt2).epsilon(2e-4));
  CHECK(least_slice_radius_mm(Grid::centred(8, 8, 8, {2, 6, 4})) == approx(std::hypot(3, 2)).epsilon(2e-4));
  refused(grid, {.response = RadialResponse::gaussian(2, 2.8f), .normalise = Normalise::slice}, "give at least 2.82");
  refused(grid,
          {.response = RadialResponse::gaussian(5, 6), .cuda_path = CudaPath::paper, .normalise = Normalise::slice},
          "normalise: none");
}

TEST_CASE("the TOR reference's back projection is the exact adjoint of its forward projection") {
  const Grid grid = Grid::centred(14, 17, 9, {4, 3, 5});
  const auto projector = reference(grid, RadialResponse::gaussian(5, 9));
  const EventBatch events = batch_of(random_lines(grid, 60, 2), {30, 0});
  std::mt19937 engine(1);
  std::normal_distribution<double> normal;
  std::vector<double> x(static_cast<std::size_t>(grid.voxels())), y(60);
  for (double& value : x) value = normal(engine);
  for (double& value : y) value = normal(engine);
  const auto ax = projector->forward(events.view(), x);
  const auto aty = projector->back(events.view(), y);
  double left = 0, right = 0, size = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    left += ax[i] * y[i];
    size += std::abs(ax[i] * y[i]);
  }
  for (std::size_t j = 0; j < x.size(); ++j) right += x[j] * aty[j];
  CHECK(std::abs(left - right) <= 1e-12 * size);
}
// SPDX-License-Identifier: Apache-2.0
