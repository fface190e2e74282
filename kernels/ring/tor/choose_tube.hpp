// The Gaussian tube that suits a scanner and an image where nobody says which (share/doc/conventions.md, "The tube of
// response").
#pragma once

#include <optional>

#include "kernels/ring/tor/tor.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

/// FWHM of the response over the tube's diameter: the wall lies at 2.74 sigma, where the cut is small.
inline constexpr float usual_fwhm_of_diameter = 0.43f;
/// A narrower tube is off by more than 6 % on a line along an axis, unless its slices are normalised.
inline constexpr float least_plain_width_voxels = 3;
/// The diagonal of a voxel's face: a narrower tube may meet no voxel of a slice.
inline constexpr float least_width_voxels = 1.4145f;

struct GaussianTube {
  float width_voxels;  // diameter, in the largest voxel edge
  float fwhm_mm;
  std::optional<float> crystal_mm;  // that the FWHM is half of, but for least_width_voxels
};

/// FWHM of the narrowest tube that is chosen, least_width_voxels wide: 0.61 of the largest voxel edge.
float least_fwhm_mm(const Grid& grid);

/// Keeps what is given and chooses what is 0. Where only one of width and FWHM is given, the other follows by
/// usual_fwhm_of_diameter. Where neither is, the FWHM is half the crystals' width, the intrinsic resolution in a
/// scanner's middle (W.W. Moses, Nucl Instrum Methods A 648:S236, 2011), and at least that of a tube least_width_voxels
/// wide; a scanner that does not tell its crystals' width gets a tube 3 voxels wide.
GaussianTube choose_tube(const Scanner& scanner, const Grid& grid, float width_voxels, float fwhm_mm);

/// Whether a tube's slices are normalised by default: if it is narrower than 3 voxels.
Normalise usual_normalise(float width_voxels);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
