// Gaussians in a transverse plane: see transverse_weights.hpp.
#include "kernels/psf/transverse_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/math/units.hpp"

namespace tofstream {
namespace {

constexpr double transverse_cut_sigmas = 3.5;
// A sampled Gaussian as narrow as this is one voxel.
constexpr double narrowest_variance = 0.02;  // its variance in voxels squared

bool is_gaussian(const TransverseCovariance& c) {
  return c.xx >= narrowest_variance && c.yy >= narrowest_variance &&
         c.xx * c.yy - c.xy * c.xy >= narrowest_variance * narrowest_variance;
}

/// The Gaussian of a covariance at the taps, with a sum of 1.
std::vector<double> sampled_gaussian(const TransverseWindow& window, const TransverseCovariance& c) {
  const double determinant = c.xx * c.yy - c.xy * c.xy;
  std::vector<double> weights(static_cast<std::size_t>(window.taps()));
  double sum = 0;
  for (std::int64_t tap = 0; tap < window.taps(); ++tap) {
    const double x = window.x(tap), y = window.y(tap);
    const double distance = (c.yy * x * x - 2 * c.xy * x * y + c.xx * y * y) / determinant;
    sum += weights[static_cast<std::size_t>(tap)] = std::exp(-0.5 * distance);
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

TransverseCovariance covariance_of_samples(const TransverseWindow& window, const std::vector<double>& weights) {
  TransverseCovariance c;
  for (std::int64_t tap = 0; tap < window.taps(); ++tap) {
    const double x = window.x(tap), y = window.y(tap), weight = weights[static_cast<std::size_t>(tap)];
    c.xx += weight * x * x;
    c.xy += weight * x * y;
    c.yy += weight * y * y;
  }
  return c;
}

}  // namespace

TransverseCovariance covariance_of(const Resolution& fwhm, Vec3 centre, Vec3 voxel_mm) {
  const double x = static_cast<double>(centre.x), y = static_cast<double>(centre.y), r = std::hypot(x, y);
  const double c = r > 0 ? x / r : 1, s = r > 0 ? y / r : 0;
  const auto variance = [](double width) { return std::pow(width / fwhm_per_sigma, 2); };
  const double radial = variance(fwhm.radial_mm), tangential = variance(fwhm.tangential_mm);
  const double dx = static_cast<double>(voxel_mm.x), dy = static_cast<double>(voxel_mm.y);
  return {(c * c * radial + s * s * tangential) / (dx * dx), c * s * (radial - tangential) / (dx * dy),
          (s * s * radial + c * c * tangential) / (dy * dy)};
}

TransverseWindow::TransverseWindow(double sigma_x, double sigma_y) {
  const double reach_x = std::max(1.0, transverse_cut_sigmas * sigma_x),
               reach_y = std::max(1.0, transverse_cut_sigmas * sigma_y);
  const int most_x = static_cast<int>(std::ceil(reach_x)), most_y = static_cast<int>(std::ceil(reach_y));
  for (int y = -most_y; y <= most_y; ++y)
    for (int x = -most_x; x <= most_x; ++x)
      if (std::hypot(x / (reach_x + 0.5), y / (reach_y + 0.5)) <= 1) {
        x_.push_back(x);
        y_.push_back(y);
      }
}

std::vector<double> transverse_weights(const TransverseWindow& window, const TransverseCovariance& wanted) {
  constexpr int most_steps = 30;
  constexpr double exact_enough = 1e-3;  // voxels squared, or of the variance
  TransverseCovariance c{wanted.xx + narrowest_variance, wanted.xy, wanted.yy + narrowest_variance};
  std::vector<double> weights = sampled_gaussian(window, c);
  for (int step = 0; step < most_steps; ++step) {
    const TransverseCovariance is = covariance_of_samples(window, weights);
    const TransverseCovariance off{wanted.xx - is.xx, wanted.xy - is.xy, wanted.yy - is.yy};
    if (std::max({std::abs(off.xx), std::abs(off.xy), std::abs(off.yy)}) <
        exact_enough * std::max({1.0, wanted.xx, wanted.yy}))
      break;
    const TransverseCovariance next{c.xx + off.xx, c.xy + off.xy, c.yy + off.yy};
    if (!is_gaussian(next)) break;
    c = next;
    weights = sampled_gaussian(window, c);
  }
  return weights;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
