// A camera's point spread by depth. Depths are in mm from the collimator's face; widths are standard deviations in
// the object's plane, also where the beam converges.
#pragma once

#include <variant>
#include <vector>

namespace tofstream {

/// A Gaussian of variance (slope d + sigma0_mm)^2 + intrinsic_mm^2 at depth d.
struct GaussianPsfModel {
  float slope = 0;         // mm a mm
  float sigma0_mm = 0;     // of the collimator at its face
  float intrinsic_mm = 0;  // of the crystal and its electronics
  friend bool operator==(const GaussianPsfModel&, const GaussianPsfModel&) = default;
};

/// A Gaussian from the collimator's parallel holes (Anger's formula): FWHM = hole (l + gap + d) / l, where
/// l = length - 2 / septa_mu is the length that photons cannot pass.
struct HolesPsf {
  float hole_mm = 0;
  float length_mm = 0;
  float septa_mu_per_mm = 0;  // of the septa's material at the photons' energy; 0: nothing passes them
  float gap_mm = 0;           // from the collimator's back to the plane in the crystal where photons are detected
  float intrinsic_mm = 0;     // standard deviation, as above
  friend bool operator==(const HolesPsf&, const HolesPsf&) = default;
};

/// Measured or simulated kernels, also asymmetric, of the camera's pixels: values[(depth * along + w) * across + u],
/// centre in the middle (sizes are odd). The response at a pixel u + i, w + j to a point that the camera's beam sees
/// at pixel (u, w) is the value at i, j. Linear between depths, constant beyond the first and the last one.
struct KernelTable {
  int across = 1, along = 1;     // pixels along u and w
  std::vector<float> depths_mm;  // ascending
  std::vector<float> values;
  friend bool operator==(const KernelTable&, const KernelTable&) = default;
};

/// None at all: monostate.
using PsfModel = std::variant<std::monostate, GaussianPsfModel, HolesPsf, KernelTable>;

/// Throws std::invalid_argument, in one line, unless the model's numbers can be.
void validate(const PsfModel& model);

/// The standard deviation in mm in the object's plane at depth d of a Gaussian model; 0 without a model. Throws
/// std::logic_error for a table.
double psf_sigma_mm(const PsfModel& model, double depth_mm);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
