// Contrast recovery, background variability and noise: see contrast.hpp.
#include "kernels/analysis/contrast.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/analysis/roi.hpp"

namespace tofstream {

namespace {

/// The mean of a disc of the given diameter, on the slice nearest to z.
double disc_mean(const Image& image, Vec3 centre, float z, float diameter) {
  return statistics(image, Disc{{centre.x, centre.y, z}, 0.5f * diameter}).mean;
}

struct Background {
  double mean = 0, std = 0;  // of the ROIs' means
};

Background background_of(const Image& image, const NemaLayout& layout, float z, float diameter) {
  std::vector<double> means;
  for (const float offset : layout.slice_offsets_mm)
    for (const Vec3& centre : layout.background_mm) means.push_back(disc_mean(image, centre, z + offset, diameter));
  Background result;
  for (const double m : means) result.mean += m / static_cast<double>(means.size());
  double squares = 0;
  for (const double m : means) squares += (m - result.mean) * (m - result.mean);
  result.std = std::sqrt(squares / static_cast<double>(means.size() - 1));
  if (!(result.mean > 0))
    throw std::invalid_argument(fmt::format(
        "the mean of the background ROIs must be positive, not {}: are they where the phantom is?", result.mean));
  return result;
}

void validate(const NemaLayout& layout) {
  if (layout.spheres.empty()) throw std::invalid_argument("a NEMA layout needs spheres");
  if (layout.background_mm.size() * layout.slice_offsets_mm.size() < 2)
    throw std::invalid_argument("a NEMA layout needs at least two background ROIs");
  const bool hot = std::ranges::any_of(layout.spheres, &NemaSphere::hot);
  if (hot && !(std::isfinite(layout.activity_ratio) && layout.activity_ratio > 1))
    throw std::invalid_argument(
        fmt::format("hot spheres need an activity ratio above 1, not {}", layout.activity_ratio));
}

}  // namespace

NemaResult nema_image_quality(const Image& image, const NemaLayout& layout) {
  validate(layout);
  NemaResult result;
  Background largest;
  float largest_diameter = 0;
  for (const NemaSphere& sphere : layout.spheres) {
    const float z = sphere.centre_mm.z, diameter = sphere.diameter_mm;
    const Background background = background_of(image, layout, z, diameter);
    const double mean = disc_mean(image, sphere.centre_mm, z, diameter);
    const double ratio = mean / background.mean;
    const double contrast = sphere.hot ? (ratio - 1) / (static_cast<double>(layout.activity_ratio) - 1) : 1 - ratio;
    result.spheres.push_back(
        {diameter, sphere.hot, mean, background.mean, 100 * contrast, 100 * background.std / background.mean});
    if (diameter > largest_diameter) {
      largest_diameter = diameter;
      largest = background;
    }
  }
  if (layout.lung_centre_mm) {
    const Grid& grid = image.grid;
    for (int k = 0; k < grid.size[2]; ++k) {
      const float z = grid.centre(0, 0, k).z;
      if (std::abs(z - layout.lung_centre_mm->z) > 0.5f * layout.lung_length_mm) continue;
      const double mean = disc_mean(image, *layout.lung_centre_mm, z, layout.lung_diameter_mm);
      result.lung_residual_percent.push_back(100 * mean / largest.mean);
    }
  }
  return result;
}

namespace {

double require_positive_mean(double mean, const char* region) {
  if (!(mean > 0))
    throw std::invalid_argument(
        fmt::format("the mean of the {} must be positive, not {}: is it where the phantom is?", region, mean));
  return mean;
}

/// What two discs with one centre have between them.
double annulus_mean(const Image& image, const AnnulusSphere& sphere) {
  const float inner = 0.5f * (sphere.diameter_mm + AnnulusLayout::gap_mm);
  const RoiStatistics within = statistics(image, Disc{sphere.centre_mm, inner}),
                      all = statistics(image, Disc{sphere.centre_mm, inner + AnnulusLayout::thickness_mm});
  return require_positive_mean((all.mean * all.voxels - within.mean * within.voxels) / (all.voxels - within.voxels),
                               "annulus about a sphere");
}

AnnulusSphereResult recovery_of(const Image& image, const AnnulusSphere& sphere) {
  if (!(std::isfinite(sphere.true_ratio) && sphere.true_ratio != 1))
    throw std::invalid_argument(
        fmt::format("a sphere of {} times its background's activity has no contrast to recover", sphere.true_ratio));
  AnnulusSphereResult result{.mean = statistics(image, Disc{sphere.centre_mm, 0.5f * sphere.diameter_mm}).mean,
                             .annulus_mean = annulus_mean(image, sphere)};
  result.recovery_percent = 100 * (result.mean / result.annulus_mean - 1) / (sphere.true_ratio - 1);
  return result;
}

}  // namespace

AnnulusResult annulus_contrast(const Image& image, const AnnulusLayout& layout) {
  if (layout.spheres.empty()) throw std::invalid_argument("contrast against an annulus needs spheres");
  AnnulusResult result;
  for (const AnnulusSphere& sphere : layout.spheres) {
    result.spheres.push_back(recovery_of(image, sphere));
    result.recovery_percent += result.spheres.back().recovery_percent / static_cast<double>(layout.spheres.size());
  }
  if (layout.noise) {
    const RoiStatistics even = statistics(image, Disc{layout.noise->centre_mm, 0.5f * layout.noise->diameter_mm});
    result.noise_percent = 100 * even.std / require_positive_mean(even.mean, "noise region");
  }
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
