// Scatter in a camera's photopeak window, estimated from windows beside it: the counts per keV go in a straight line
// from the middle of the lower window to the middle of the upper one, or to zero where there is none.
#pragma once

#include <span>

#include "kernels/filter/gaussian_psf.hpp"
#include "kernels/types/views.hpp"

namespace tofstream {

/// b = lower C_l + upper C_u, counts in the photopeak window from those in the windows beside it.
struct ScatterWeights {
  double lower = 0, upper = 0;
};

/// Three windows: W_p / (2 W_l) and W_p / (2 W_u), the area of a trapezoid (Ogawa et al. 1991). Throws
/// std::invalid_argument, in one line, where a window has no width.
ScatterWeights triple_window_weights(EnergyWindow photopeak, EnergyWindow lower, EnergyWindow upper);

/// Two windows: `factor` of the lower window's counts (Jaszczak et al. 1984: 0.5 for Tc-99m and their windows). The
/// triangle W_p / (2 W_l) is the trapezoid whose upper end is zero. Throws as above.
ScatterWeights triangle_weights(EnergyWindow photopeak, EnergyWindow lower);

/// Writes b of each pixel. `upper` may be empty where its weight is 0; spans of other sizes than `b` are
/// std::invalid_argument.
void estimate_scatter(ScatterWeights weights, std::span<const float> lower, std::span<const float> upper,
                      std::span<float> b);

/// Smooths views on the host by a Gaussian, divided by what the Gaussian leaves of ones: a flat view stays flat up to
/// its edges.
class ViewSmoothing {
 public:
  /// `size`: pixels of a view along u and w; `pixel_mm`: their edges. Throws std::invalid_argument as GaussianPsf does.
  ViewSmoothing(const int (&size)[3], Vec3 pixel_mm, double fwhm_mm);
  void apply(std::span<float> view);

 private:
  Image ones_;
  GaussianPsf gaussian_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
