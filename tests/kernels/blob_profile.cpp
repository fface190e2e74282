// Blobs themselves: lattices, the parameters of the literature, normalisation, line integrals; and what is refused.
#include <cmath>
#include <numbers>

#include <doctest/doctest.h>

#include "kernels/analysis/compare.hpp"
#include "kernels/project/tor/tor.hpp"
#include "kernels/types/image.hpp"
#include "tests/kernels/blob_support.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

/// Integral of f over [0, end] by the midpoint rule.
template <class F>
double integral(double end, F&& f) {
  constexpr int steps = 40000;
  double sum = 0;
  for (int i = 0; i < steps; ++i) sum += f((i + 0.5) * end / steps);
  return sum * end / steps;
}

}  // namespace

TEST_CASE("an image of blobs has two lattices half an edge apart, centred together on the grid") {
  const Grid grid = blob_grid(5, 4, 3, 8);
  CHECK(grid.voxels() == 2 * 60);
  CHECK(Image::zeros(grid).voxels.size() == 120);
  CHECK(grid.lattice(0).voxels() == 60);
  CHECK(!grid.lattice(0).has_blobs());
  const Vec3 even = grid.lattice(0).centre(1, 2, 0), odd = grid.lattice(1).centre(1, 2, 0);
  CHECK(odd - even == Vec3{4, 4, 4});
  CHECK(0.5f * (odd + even) == grid.centre(1, 2, 0));
  const Grid voxels = Grid::centred(5, 4, 3, {8, 8, 8});
  CHECK(voxels.lattices() == 1);
  CHECK(voxels.lattice(0) == voxels);
  CHECK(!(voxels == grid));
}

TEST_CASE("the radius of uniform blobs is the literature's") {
  // Philips' clinical blobs: radius 2.5, lattice edge 2.0375, alpha 8.3689. Matej and Lewitt's standard: alpha 10.4,
  // radius 1.994 in units of which the lattice's edge is the square root of two.
  CHECK(uniform_blob_radius_mm(2.0375f, 8.3689f) == doctest::Approx(2.5).epsilon(1e-5));
  CHECK(uniform_blob_radius_mm(std::numbers::sqrt2_v<float>, 10.4f) == doctest::Approx(1.994).epsilon(1e-3));
  CHECK_THROWS_AS(uniform_blob_radius_mm(0, 8), std::invalid_argument);
  CHECK_THROWS_AS(uniform_blob_radius_mm(4, NAN), std::invalid_argument);
}

TEST_CASE("a blob's integral over space is the volume of a node, half a cube of the lattice") {
  for (const float alpha : {0.5f, 8.3689f, 10.4f, 80.0f}) {
    const Blob blob{7, alpha};
    const BlobProfile profile(blob, 6);
    const double volume = integral(7, [&](double r) { return 4 * std::numbers::pi * r * r * profile(r); });
    CHECK(volume == doctest::Approx(108).epsilon(1e-7));
    CHECK(profile(7.001) == 0);
  }
}

TEST_CASE("the TOR's blob response times the volume of a node is the line integral of a blob") {
  for (const float alpha : {2.0f, 8.3689f, 10.4f}) {
    const double a = 5, edge = 4;
    const BlobProfile profile({static_cast<float>(a), alpha}, static_cast<float>(edge));
    const auto response = RadialResponse::kaiser_bessel(alpha, static_cast<float>(a));
    for (const double s : {0.0, 0.5, 1.7, 3.0, 4.6}) {
      const double half = std::sqrt(a * a - s * s);
      const double line = 2 * integral(half, [&](double l) { return profile(std::sqrt(s * s + l * l)); });
      CHECK(0.5 * edge * edge * edge * response(s) == doctest::Approx(line).epsilon(1e-6));
    }
  }
}

TEST_CASE("a grid of blobs is refused where voxels are needed, and where it is not valid") {
  const Grid grid = blob_grid(5, 4, 3, 8);
  CHECK_NOTHROW(validate_basis(grid));
  CHECK_NOTHROW(validate_basis(Grid::centred(5, 4, 3, {8, 7, 6})));
  CHECK_THROWS_WITH_AS(validate(grid), doctest::Contains("blob_to_voxels"), std::invalid_argument);
  CHECK_THROWS_WITH(require_same_grid(grid, Grid::centred(5, 4, 3, {8, 8, 8})), doctest::Contains("basis"));
  CHECK_THROWS_AS(make_tor_projector(grid, {RadialResponse::gaussian(5, 6)}, Backend::cpu), std::invalid_argument);
  Grid wrong = grid;
  wrong.voxel_mm.y = 9;
  CHECK_THROWS_WITH_AS(validate_basis(wrong), doctest::Contains("cubic"), std::invalid_argument);
  for (const Blob blob :
       {Blob{-1, 8}, Blob{NAN, 8}, Blob{1, 8}, Blob{100, 8}, Blob{9, 0}, Blob{9, NAN}, Blob{9, 501}}) {
    wrong = grid;
    wrong.blob = blob;
    CHECK_THROWS_AS(validate_basis(wrong), std::invalid_argument);
  }
}
