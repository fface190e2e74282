// What the tests of two strips share: P in double precision, the integral over the emission angle that it approximates,
// and simulated events.
#pragma once

#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "kernels/strip/kernel-inl.hpp"
#include "kernels/strip/strip.hpp"
#include "tests/kernels/projector_support.hpp"

namespace tofstream::testing {

inline constexpr StripForm strip_forms[] = {StripForm::full, StripForm::eq7, StripForm::gaussian};

using Response = StripResponse<double>;
using Emission = StripEmission<double>;

template <StripForm form>
double density_of(const StripSettings& settings, const Response& response, double y, double z) {
  const auto event = StripEventTerms<double>::make(form, settings.geometry, settings.resolution, response);
  const double dy = y - event.y, dz = z - event.z;
  const auto row = single_lane::strip_row<double>(event, dy);
  return single_lane::strip_density<form, double>(event, row.at<form>(event, dz - dy * event.tan),
                                                  strip_angles(settings.geometry, y, z));
}

/// P(event | pixel) in double precision (1/mm^3).
inline double density_of(StripForm form, const StripSettings& settings, const Response& response, double y, double z) {
  switch (form) {
    case StripForm::full:
      return density_of<StripForm::full>(settings, response, y, z);
    case StripForm::eq7:
      return density_of<StripForm::eq7>(settings, response, y, z);
    case StripForm::gaussian:
      break;
  }
  return density_of<StripForm::gaussian>(settings, response, y, z);
}

/// The density of measuring `response` for decays at (y, z) with photons at the given angles: the integral over the
/// angle of a Gaussian around the response of ideal strips. It is taken at midpoints of steps of 1 mrad, of which the
/// narrowest response has 20 to a sigma.
inline double angle_integral(const StripSettings& settings, const Response& response, double y, double z,
                             const StripAngles<double>& angles) {
  const StripPrecision<double> c = strip_precision(settings.resolution, settings.geometry, response);
  if (!(angles.low < angles.high)) return 0;
  const auto steps = static_cast<int>(std::ceil((angles.high - angles.low) / 1e-3));
  const double step = (angles.high - angles.low) / steps;
  double sum = 0;
  for (int k = 0; k < steps; ++k) {
    const double tan = std::tan(angles.low + (k + 0.5) * step);
    const Response ideal = strip_response(settings.geometry, Emission{tan, y, z});
    const double u = response.z_up_mm - ideal.z_up_mm, d = response.z_down_mm - ideal.z_down_mm;
    const double l = response.dl_mm - ideal.dl_mm;
    sum += std::exp(-0.5 * (c.up * u * u + c.down * d * d + c.dl * l * l + 2 * c.cross * l * (u - d)));
  }
  return sum * step / std::numbers::pi * std::sqrt(c.determinant()) / std::pow(2 * std::numbers::pi, 1.5);
}

/// Almost all angles, as strips without ends see.
inline StripAngles<double> all_angles() {
  return {-1.55, 1.55};
}

/// Events of decays at `place()` -> {y, z}: those whose photons meet both strips, as the strips measure them.
template <class Place>
std::vector<Response> simulated(const StripSettings& settings, int count, std::uint64_t seed, const Place& place) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> angle(-std::numbers::pi / 2, std::numbers::pi / 2);
  std::normal_distribution<double> normal;
  std::vector<Response> responses;
  while (static_cast<int>(responses.size()) < count) {
    const std::array<double, 2> at = place(generator);
    Response r = strip_response(settings.geometry, Emission{std::tan(angle(generator)), at[0], at[1]});
    const double half = 0.5 * static_cast<double>(settings.geometry.length_mm);
    if (std::abs(r.z_up_mm) > half || std::abs(r.z_down_mm) > half) continue;
    r.z_up_mm += strip_sigma_z(settings.resolution, settings.geometry, r.z_up_mm) * normal(generator);
    r.z_down_mm += strip_sigma_z(settings.resolution, settings.geometry, r.z_down_mm) * normal(generator);
    r.dl_mm += static_cast<double>(settings.resolution.sigma_dl_mm) * normal(generator);
    responses.push_back(r);
  }
  return responses;
}

/// A batch as the strip projector takes it.
inline EventBatch strip_batch(const StripGeometry& strips, const std::vector<Response>& responses) {
  std::vector<Lor> lors;
  for (const Response& r : responses)
    lors.push_back({{0, strips.radius_mm, static_cast<float>(r.z_up_mm)},
                    {0, -strips.radius_mm, static_cast<float>(r.z_down_mm)},
                    static_cast<float>(0.5 * r.dl_mm)});
  return batch_of(lors, {20, 0});
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
