// Image quality as NEMA NU 2-2018 (section 7) defines it: percent contrast of hot and cold spheres
// and percent background variability from circular ROIs of the spheres' diameters, and the residual
// error in the lung insert. And as Ha et al. 2013 measure it: each sphere against the annulus about it.
#pragma once

#include <optional>
#include <vector>

#include "kernels/types/image.hpp"

namespace tofstream {

struct NemaSphere {
  Vec3 centre_mm;
  float diameter_mm = 0;  // inner diameter, also that of its ROIs
  bool hot = true;
};

/// Where NEMA's ROIs lie. Standard: 12 background positions on 5 slices (the spheres' and those
/// nearest to 1 and 2 cm on either side), so 60 background ROIs of each diameter.
struct NemaLayout {
  std::vector<NemaSphere> spheres;
  std::vector<Vec3> background_mm;  // centres (x, y) of the concentric background ROIs; z unused
  std::vector<float> slice_offsets_mm = {-20, -10, 0, 10, 20};
  float activity_ratio = 4;  // true a_hot / a_background
  std::optional<Vec3> lung_centre_mm;
  float lung_diameter_mm = 30;  // of its ROIs; the insert itself is wider
  float lung_length_mm = 120;   // along z, about lung_centre_mm: slices within are analysed
};

struct NemaSphereResult {
  float diameter_mm = 0;
  bool hot = true;
  double mean = 0;                            // C_j in the sphere's ROI
  double background_mean = 0;                 // C_B,j over all background ROIs of this diameter
  double contrast_percent = 0;                // Q_j
  double background_variability_percent = 0;  // N_j
};

struct NemaResult {
  std::vector<NemaSphereResult> spheres;  // in the order of the layout
  /// Per slice: mean of a disc in the lung insert / C_B of the largest diameter, percent.
  std::vector<double> lung_residual_percent;
};

/// hot: Q = (C_H / C_B - 1) / (a_H / a_B - 1) * 100; cold: Q = (1 - C_C / C_B) * 100;
/// N = SD / C_B * 100 with SD the sample standard deviation of the background ROIs' means.
/// Throws std::invalid_argument for a layout without spheres or with fewer than two background
/// ROIs, an activity ratio of 1 or less with a hot sphere, ROIs outside the image, or a background
/// whose mean is not positive.
NemaResult nema_image_quality(const Image& image, const NemaLayout& layout);

/// A sphere in an even background, and how many times that background's activity it truly has.
struct AnnulusSphere {
  Vec3 centre_mm;
  float diameter_mm = 0;
  double true_ratio = 1;
};

/// The annulus begins at a diameter larger than the sphere's by `gap_mm` and is `thickness_mm` thick (Ha et al. 2013).
struct AnnulusLayout {
  static constexpr float gap_mm = 14, thickness_mm = 8;
  std::vector<AnnulusSphere> spheres;
  std::optional<AnnulusSphere> noise;  // a disc in an even part of the phantom; its ratio is not read
};

struct AnnulusSphereResult {
  double mean = 0, annulus_mean = 0;
  double recovery_percent = 0;  // contrast recovery coefficient
};

struct AnnulusResult {
  std::vector<AnnulusSphereResult> spheres;  // in the order of the layout
  double recovery_percent = 0;               // mean over spheres
  std::optional<double> noise_percent;       // spread of the disc's voxels over their mean
};

/// CRC = (mean of the sphere's disc / mean of its annulus - 1) / (true ratio - 1) * 100, on the slice nearest to the
/// sphere's centre. Throws std::invalid_argument for a layout without spheres, a true ratio of 1 or one that is not
/// finite, regions outside the image, or an annulus or a noise disc whose mean is not positive.
AnnulusResult annulus_contrast(const Image& image, const AnnulusLayout& layout);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
