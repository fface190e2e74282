// Factors between units, and what a full width at half maximum is in standard deviations: each once.
#pragma once

namespace tofstream {

/// sqrt(8 ln 2): a Gaussian's full width at half maximum over its standard deviation.
inline constexpr double fwhm_per_sigma = 2.3548200450309493;
/// Activity concentrations are per mL, images' volumes in mm^3.
inline constexpr double mL_per_mm3 = 1e-3;
/// Exact (SI).
inline constexpr double speed_of_light_mm_ps = 0.299792458;

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
