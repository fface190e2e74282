// Blobs themselves: lattices, the parameters of the literature, normalisation, line integrals; and what is refused.
#include <cmath>
#include <numbers>

#include <doctest/doctest.h>

#include "kernels/analysis/compare.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "kernels/types/image.hpp"
#include "tests/kernels/blob_support.hpp"
#include "tests/support/approx.hpp"

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

/// The n-th positive zero of the Bessel function J_7/2, and of the spherical one of order 3.
double zero_of_bessel(int n) {
  const auto j3 = [](double x) {
    return (15 / (x * x * x) - 6 / x) * std::sin(x) / x - (15 / (x * x) - 1) * std::cos(x) / x;
  };
  double from = 4;  // below the first
  for (int found = 0;; from += 0.5) {
    if (j3(from) * j3(from + 0.5) > 0 || ++found < n) continue;
    double to = from + 0.5;
    while (to - from > 1e-12) (j3(from) * j3((from + to) / 2) > 0 ? from : to) = (from + to) / 2;
    return from;
  }
}

/// A blob's Fourier transform at a spatial frequency (1/mm), relative to that at 0.
double spectrum(const Blob& blob, float edge, double frequency) {
  const BlobProfile profile(blob, edge);
  const double rate = 2 * std::numbers::pi * frequency;
  const double radius = static_cast<double>(blob.radius_mm);
  return integral(radius, [&](double r) { return r * std::sin(rate * r) / rate * profile(r); }) /
         integral(radius, [&](double r) { return r * r * profile(r); });
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

TEST_CASE("the clinical blobs' parameters follow from the lattice's frequencies and the radius") {
  // Nodes of a body-centred cubic lattice repeat at sqrt(2), 2, sqrt(6), ... / edge. A blob's spectrum is zero where
  // (2 pi radius f)^2 = alpha^2 + j_n^2: the first zero at sqrt(2) / edge and the fourth at sqrt(6) / edge leave one
  // alpha, and one radius in edges.
  const double j1 = zero_of_bessel(1), j4 = zero_of_bessel(4);
  CHECK(j1 == approx(6.98793).epsilon(1e-6));
  const double alpha = std::sqrt((j4 * j4 - 3 * j1 * j1) / 2);
  CHECK(alpha == approx(8.3641).epsilon(1e-5));
  CHECK(alpha == approx(8.3689).epsilon(6e-4));
  const double edges = std::sqrt(alpha * alpha + j1 * j1) / (2 * std::numbers::pi * std::numbers::sqrt2);
  CHECK(2.5 / edges == approx(2.0382).epsilon(1e-5));
  CHECK(2.5 / edges == approx(2.0375).epsilon(4e-4));
  // And the published edge gives the published alpha by the first condition alone.
  const double rate = 2 * std::numbers::pi * std::numbers::sqrt2 * 2.5 / 2.0375;
  CHECK(std::sqrt(rate * rate - j1 * j1) == approx(8.3689).epsilon(1e-5));
  const Blob clinical{2.5f, 8.3689f};
  CHECK(std::abs(spectrum(clinical, 2.0375f, std::sqrt(2.0) / 2.0375)) < 1e-6);
  CHECK(std::abs(spectrum(clinical, 2.0375f, std::sqrt(6.0) / 2.0375)) < 1e-6);
  CHECK(std::abs(spectrum(clinical, 2.0375f, 2 / 2.0375)) > 1e-4);  // from which the remaining ripple comes
}

TEST_CASE("the radius of uniform blobs is the literature's") {
  // Philips' clinical blobs: radius 2.5, lattice edge 2.0375, alpha 8.3689. Matej and Lewitt's standard: alpha 10.4,
  // radius 1.994 in units of which the lattice's edge is the square root of two.
  CHECK(uniform_blob_radius_mm(2.0375f, 8.3689f) == approx(2.5).epsilon(1e-5));
  CHECK(uniform_blob_radius_mm(std::numbers::sqrt2_v<float>, 10.4f) == approx(1.994).epsilon(1e-3));
  CHECK_THROWS_AS(uniform_blob_radius_mm(0, 8), std::invalid_argument);
  CHECK_THROWS_AS(uniform_blob_radius_mm(4, NAN), std::invalid_argument);
}

TEST_CASE("a blob's integral over space is the volume of a node, half a cube of the lattice") {
  for (const float alpha : {0.5f, 8.3689f, 10.4f, 80.0f}) {
    const Blob blob{7, alpha};
    const BlobProfile profile(blob, 6);
    const double volume = integral(7, [&](double r) { return 4 * std::numbers::pi * r * r * profile(r); });
    CHECK(volume == approx(108).epsilon(1e-7));
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
      CHECK(0.5 * edge * edge * edge * response(s) == approx(line).epsilon(1e-6));
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
// SPDX-License-Identifier: Apache-2.0
