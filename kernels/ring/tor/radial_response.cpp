// Radial responses of the tube of response (tor.hpp; conventions.md, the tube of response): Gaussian, Kaiser-Bessel
// blob and table, each normalised in closed form to unit integral over the transverse disc.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include <boost/math/special_functions/bessel.hpp>
#include <fmt/format.h>

#include "kernels/math/units.hpp"
#include "kernels/ring/tor/tor.hpp"

namespace tofstream {

namespace {

void require_radius(float tube_radius_mm) {
  if (!(tube_radius_mm > 0) || !std::isfinite(tube_radius_mm))
    throw std::invalid_argument(
        fmt::format("radial response: tube radius {} mm: give a positive, finite number", tube_radius_mm));
}

/// Value at r of the function that joins `values`, given at equal steps over [0, radius], by lines.
double interpolate(const std::vector<double>& values, double radius, double r) {
  const auto steps = static_cast<double>(values.size() - 1);
  const double position = std::clamp(r / radius, 0.0, 1.0) * steps;
  const double left = std::min(std::floor(position), steps - 1);
  const auto i = static_cast<std::size_t>(left);
  return values[i] + (position - left) * (values[i + 1] - values[i]);
}

/// Integral over the disc of the same function: a ring [r0, r1] with f linear gives
/// 2 pi (r1 - r0) (f0 (2 r0 + r1) + f1 (r0 + 2 r1)) / 6.
double disc_integral(const std::vector<double>& values, double radius) {
  const double step = radius / static_cast<double>(values.size() - 1);
  double sum = 0;
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const double r0 = static_cast<double>(i) * step, r1 = r0 + step;
    sum += values[i] * (2 * r0 + r1) + values[i + 1] * (r0 + 2 * r1);
  }
  return sum * step * std::numbers::pi / 3;
}

/// The polynomial through f / w^5 at Chebyshev's nodes of w^2 in [0, 1], by Newton's divided differences.
BlobPolynomial blob_polynomial(double radius, const std::function<double(double)>& density) {
  constexpr int n = BlobPolynomial::terms;
  double node[n], difference[n];
  for (int i = 0; i < n; ++i) {
    node[i] = 0.5 * std::cos(std::numbers::pi * (2 * i + 1) / (2.0 * n));
    const double w2 = node[i] + 0.5;
    difference[i] = density(radius * std::sqrt(1 - w2)) / (w2 * w2 * std::sqrt(w2));
  }
  for (int order = 1; order < n; ++order)
    for (int i = n - 1; i >= order; --i)
      difference[i] = (difference[i] - difference[i - 1]) / (node[i] - node[i - order]);
  double coefficient[n] = {};  // of powers, from the innermost of Newton's nested products outwards
  for (int i = n - 1; i >= 0; --i) {
    for (int k = n - 1; k > 0; --k) coefficient[k] = coefficient[k - 1] - node[i] * coefficient[k];
    coefficient[0] = difference[i] - node[i] * coefficient[0];
  }
  BlobPolynomial result;
  for (int k = 0; k < n; ++k) result.coefficient[k] = static_cast<float>(coefficient[k]);
  result.inverse_radius2 = static_cast<float>(1 / (radius * radius));
  return result;
}

}  // namespace

RadialResponse::RadialResponse(float tube_radius_mm, std::function<double(double)> density)
    : radius_(tube_radius_mm), density_(std::move(density)) {
  values_.resize(samples);
  for (int i = 0; i < samples; ++i)
    values_[static_cast<std::size_t>(i)] = static_cast<float>(density_(radius_ * (i / (samples - 1.0))));
}

double RadialResponse::operator()(double r_mm) const {
  const double r = std::abs(r_mm);
  return r <= radius_ ? density_(r) : 0.0;
}

RadialResponse RadialResponse::gaussian(float fwhm_mm, float tube_radius_mm) {
  require_radius(tube_radius_mm);
  if (!(fwhm_mm > 0) || !std::isfinite(fwhm_mm))
    throw std::invalid_argument(fmt::format("radial response: FWHM {} mm: give a positive, finite number", fwhm_mm));
  const double sigma = fwhm_mm / fwhm_per_sigma;
  const double inverse = 0.5 / (sigma * sigma);
  const double radius = tube_radius_mm;
  // The Gaussian's mass within the radius is 1 - exp(-R^2 / (2 sigma^2)).
  const double peak = inverse / (std::numbers::pi * -std::expm1(-radius * radius * inverse));
  RadialResponse result(tube_radius_mm, [=](double r) { return peak * std::exp(-r * r * inverse); });
  result.gaussian_sigma_ = sigma;
  return result;
}

RadialResponse RadialResponse::kaiser_bessel(float alpha, float tube_radius_mm) {
  require_radius(tube_radius_mm);
  if (!(alpha >= 0.001f && alpha <= 500.0f))
    throw std::invalid_argument(
        fmt::format("radial response: blob shape alpha {}: give a number in [0.001, 500]", alpha));
  // With w = sqrt(1 - (r/a)^2), the line integral of an order-m blob is proportional to
  // w^(m + 1/2) I_(m + 1/2)(alpha w); its integral over the plane is the blob's over space,
  // (2 pi / alpha)^(3/2) a^3 I_(m + 3/2)(alpha) / I_m(alpha) (Lewitt 1992).
  constexpr double order = 2;
  const double a = tube_radius_mm, shape = alpha;
  const double scale = shape / (2 * std::numbers::pi * a * a * boost::math::cyl_bessel_i(order + 1.5, shape));
  RadialResponse result(tube_radius_mm, [=](double r) {
    const double w = std::sqrt(std::max(0.0, 1 - r * r / (a * a)));
    return scale * std::pow(w, order + 0.5) * boost::math::cyl_bessel_i(order + 0.5, shape * w);
  });
  if (alpha <= BlobPolynomial::largest_alpha) result.blob_ = blob_polynomial(a, result.density_);
  return result;
}

RadialResponse RadialResponse::table(const std::vector<float>& values, float tube_radius_mm) {
  require_radius(tube_radius_mm);
  if (values.size() < 2) throw std::invalid_argument("radial response: give a table of at least two values");
  for (const float value : values)
    if (!(value >= 0) || !std::isfinite(value))
      throw std::invalid_argument(fmt::format("radial response: table value {}: give finite numbers >= 0", value));
  std::vector<double> shape(values.begin(), values.end());
  const double integral = disc_integral(shape, tube_radius_mm);
  if (!(integral > 0)) throw std::invalid_argument("radial response: the table is zero all over: give one above zero");
  for (double& value : shape) value /= integral;
  const double radius = tube_radius_mm;
  return RadialResponse(tube_radius_mm,
                        [shape = std::move(shape), radius](double r) { return interpolate(shape, radius, r); });
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
