// Regions of interest: volumes and means against closed forms; NEMA's figures against numbers worked
// out by hand.
#include "kernels/analysis/contrast.hpp"
#include "kernels/analysis/roi.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

constexpr double roi_pi = 3.14159265358979;

/// An image whose voxels are f(centre).
template <class F>
Image image_of(const Grid& roi_grid, const F& f) {
  Image image = Image::zeros(roi_grid);
  for (int k = 0; k < roi_grid.size[2]; ++k)
    for (int j = 0; j < roi_grid.size[1]; ++j)
      for (int i = 0; i < roi_grid.size[0]; ++i) image.voxels[roi_grid.index(i, j, k)] = f(roi_grid.centre(i, j, k));
  return image;
}

const Grid roi_grid = Grid::centred(40, 40, 30, {2, 2, 3});

}  // namespace

TEST_CASE("a region's weights sum to its volume, sub-voxel parts included") {
  const Image image = image_of(roi_grid, [](Vec3) { return 3.0f; });
  for (const float radius : {4.0f, 9.3f, 20.0f}) {
    const double r = static_cast<double>(radius);
    const RoiStatistics sphere = statistics(image, Sphere{{1.3f, -2.1f, 0.4f}, radius});
    CHECK(sphere.voxels * 12 == approx(4.0 / 3 * roi_pi * r * r * r).epsilon(3e-3));
    CHECK(sphere.mean == 3);
    CHECK(sphere.std == 0);
    const RoiStatistics cylinder = statistics(image, Cylinder{{1, 2, 3}, radius, 17});
    CHECK(cylinder.voxels * 12 == approx(roi_pi * r * r * 17).epsilon(2e-2));
    const RoiStatistics disc = statistics(image, Disc{{1, 2, 3}, radius});
    CHECK(disc.voxels * 4 == approx(roi_pi * r * r).epsilon(1e-2));
  }
  // Smaller than a voxel, and between its sampling points.
  CHECK(statistics(image, Sphere{{0.2f, 0.1f, 0.3f}, 0.5f}).mean == 3);
}

TEST_CASE("mean and spread of a ramp are those of the region") {
  const Image ramp = image_of(roi_grid, [](Vec3 p) { return 100 + p.x; });
  const RoiStatistics s = statistics(ramp, Sphere{{3, 0, 0}, 20});
  CHECK(s.mean == approx(103).epsilon(1e-4));
  CHECK(s.std == approx(20 / std::sqrt(5.0)).epsilon(1e-2));  // <x^2> = r^2 / 5
  CHECK(s.min >= 82);
  CHECK(s.max <= 124);
}

TEST_CASE("a disc lies on the nearest slice alone") {
  const Image slices = image_of(roi_grid, [](Vec3 p) { return p.z; });
  CHECK(statistics(slices, Disc{{0, 0, 4.4f}, 10}).mean == approx(4.5));
  CHECK(statistics(slices, Disc{{0, 0, 2.9f}, 10}).mean == approx(1.5));
  CHECK(statistics(slices, Disc{{0, 0, 3.1f}, 10}).mean == approx(4.5));
}

TEST_CASE("a disc may lie across any axis, in an image one voxel thick too") {
  const Image plane = image_of(Grid::centred(1, 40, 30, {4, 2, 3}), [](Vec3 p) { return p.y + 100 * p.z; });
  const RoiStatistics s = statistics(plane, Disc{{0, 5, 9}, 12, 0});
  CHECK(s.mean == approx(905).epsilon(1e-3));
  CHECK(s.voxels == approx(std::numbers::pi * 144 / 6).epsilon(0.01));
  CHECK_THROWS_AS(statistics(plane, Disc{{0, 35, 0}, 12, 0}), std::invalid_argument);
}

TEST_CASE("regions outside the image, without size or with NaN are refused") {
  const Image image = image_of(roi_grid, [](Vec3) { return std::nanf(""); });
  CHECK_THROWS_AS(statistics(image, Sphere{{0, 0, 0}, 5}), std::invalid_argument);
  CHECK_THROWS_AS(statistics(image, Sphere{{0, 0, 0}, 0}), std::invalid_argument);
  CHECK_THROWS_AS(statistics(image, Sphere{{38, 0, 0}, 5}), std::invalid_argument);
  CHECK_THROWS_AS(statistics(image, Disc{{0, 0, 80}, 5}), std::invalid_argument);
  CHECK_THROWS_AS(statistics(image, Disc{{std::nanf(""), 0, 0}, 5}), std::invalid_argument);
}

namespace {

/// Background 10 (8 in one of two halves of each slice pair), a hot square of 30, a cold one of 4.
NemaLayout layout() {
  NemaLayout l;
  l.spheres = {{{-20, 0, 1.5f}, 10, true}, {{20, 0, 1.5f}, 16, false}};
  l.background_mm = {{0, 25, 0}, {0, -25, 0}};
  l.slice_offsets_mm = {-3, 0, 3};
  l.activity_ratio = 5;
  l.lung_centre_mm = Vec3{0, 0, 1.5f};
  l.lung_diameter_mm = 4;
  l.lung_length_mm = 10;
  return l;
}

Image phantom() {
  return image_of(roi_grid, [](Vec3 p) {
    if (std::abs(p.x) < 5 && std::abs(p.y) < 5) return 1.0f;
    if (std::abs(p.x + 20) < 8 && std::abs(p.y) < 8) return 30.0f;
    if (std::abs(p.x - 20) < 10 && std::abs(p.y) < 10) return 4.0f;
    return p.y > 10 ? 12.0f : 8.0f;
  });
}

}  // namespace

TEST_CASE("NEMA's contrast and background variability, worked out by hand") {
  const NemaResult result = nema_image_quality(phantom(), layout());
  REQUIRE(result.spheres.size() == 2);
  const double sd = 2 * std::sqrt(6.0 / 5.0);  // six ROIs: three of 12, three of 8
  CHECK(result.spheres[0].mean == approx(30));
  CHECK(result.spheres[0].background_mean == approx(10));
  CHECK(result.spheres[0].contrast_percent == approx(100 * (3.0 - 1) / (5 - 1)));
  CHECK(result.spheres[0].background_variability_percent == approx(10 * sd));
  CHECK(result.spheres[1].contrast_percent == approx(60));
  CHECK(result.spheres[1].hot == false);
  REQUIRE(result.lung_residual_percent.size() == 3);
  for (const double lung : result.lung_residual_percent) CHECK(lung == approx(10));
}

TEST_CASE("NEMA layouts that cannot be evaluated are refused") {
  const Image image = phantom();
  NemaLayout l = layout();
  l.spheres.clear();
  CHECK_THROWS_AS(nema_image_quality(image, l), std::invalid_argument);
  l = layout();
  l.activity_ratio = 1;
  CHECK_THROWS_AS(nema_image_quality(image, l), std::invalid_argument);
  l = layout();
  l.background_mm.resize(1);
  l.slice_offsets_mm = {0};
  CHECK_THROWS_AS(nema_image_quality(image, l), std::invalid_argument);
  CHECK_THROWS_AS(nema_image_quality(Image::zeros(roi_grid), layout()), std::invalid_argument);
}

TEST_CASE("spheres against their annuli have the contrast recovery that was put in, and the disc its noise") {
  // A background of 10 whose voxels in the middle are 9 and 11 by turns; discs of 15 and 20, rims that no region reaches.
  const Grid fine = Grid::centred(121, 121, 3, {1, 1, 2});
  const Vec3 left = {-30, 0, 0}, right = {30, 5, 0};
  const Image image = image_of(fine, [&](Vec3 at) {
    const auto from = [&](Vec3 centre) { return std::hypot(at.x - centre.x, at.y - centre.y); };
    if (from(left) < 8) return 15.0f;
    if (from(right) < 8) return 20.0f;
    if (from({0, 0, 0}) > 9) return 10.0f;
    return (static_cast<int>(at.x) + static_cast<int>(at.y)) % 2 == 0 ? 9.0f : 11.0f;
  });
  AnnulusLayout layout{.spheres = {{left, 10, 6}, {right, 10, 6}}, .noise = AnnulusSphere{{0, 0, 0}, 14}};
  const AnnulusResult result = annulus_contrast(image, layout);
  CHECK(result.spheres[0].mean == approx(15));
  CHECK(result.spheres[0].annulus_mean == approx(10));
  CHECK(result.spheres[0].recovery_percent == approx(10));  // (15 / 10 - 1) / 5
  CHECK(result.spheres[1].recovery_percent == approx(20));
  CHECK(result.recovery_percent == approx(15));
  REQUIRE(result.noise_percent);
  CHECK(*result.noise_percent == approx(10).epsilon(0.01));

  // The annulus of a sphere of 10 mm reaches from 12 to 20 mm.
  const Image rings = image_of(fine, [&](Vec3 at) {
    const float r = std::hypot(at.x, at.y);
    return r < 10.5f || r > 21.5f ? 100.0f : 4.0f;
  });
  CHECK(annulus_contrast(rings, {.spheres = {{{0, 0, 0}, 10, 2}}, .noise = {}}).spheres[0].annulus_mean == approx(4));

  layout.spheres[0].true_ratio = 1;
  CHECK_THROWS_WITH(annulus_contrast(image, layout), doctest::Contains("no contrast to recover"));
  CHECK_THROWS_WITH(annulus_contrast(image, {}), doctest::Contains("needs spheres"));
  CHECK_THROWS_AS(annulus_contrast(image, {.spheres = {{{55, 0, 0}, 10, 6}}, .noise = {}}), std::invalid_argument);
  CHECK_THROWS_WITH(
      annulus_contrast(image_of(fine, [](Vec3) { return 0.0f; }), {.spheres = {{left, 10, 6}}, .noise = {}}),
      doctest::Contains("must be positive"));
}
// SPDX-License-Identifier: Apache-2.0
