// Kernel models of DIRECT: see direct_kernel.hpp.
#include "kernels/direct/direct_kernel.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/math/units.hpp"

namespace tofstream {

namespace {

void require_kernel_number(const char* name, float value, bool is_right, const char* expected) {
  if (!(std::isfinite(value) && is_right))
    throw std::invalid_argument(fmt::format("kernel.{} must be {}, not {:g}", name, expected, value));
}

void validate_radial(const std::vector<RadialWidth>& radial) {
  if (radial.empty()) throw std::invalid_argument("kernel.radial needs a width: a FWHM in mm, or some by radius");
  float before = -1;
  for (const RadialWidth& width : radial) {
    require_kernel_number("radial: a radius", width.radius_mm, width.radius_mm >= 0 && width.radius_mm > before,
                          "at least 0 and above the one before it (mm)");
    require_kernel_number("radial: a FWHM", width.fwhm_mm, width.fwhm_mm > 0, "positive (mm)");
    before = width.radius_mm;
  }
}

void validate_parts(const std::vector<RadialPart>& parts) {
  if (parts.empty()) throw std::invalid_argument("kernel.parts needs at least one Gaussian");
  float sum = 0;
  for (const RadialPart& part : parts) {
    require_kernel_number("parts: a weight", part.weight, part.weight >= 0, "at least 0");
    require_kernel_number("parts: a width", part.width, part.width > 0, "positive");
    require_kernel_number("parts: a shift", part.shift, true, "finite");
    sum += part.weight;
  }
  require_kernel_number("parts: the sum of weights", sum, sum > 0, "positive");
}

/// Linear between radii, constant beyond the first and the last one.
double radial_sigma_mm(const std::vector<RadialWidth>& radial, double radius_mm) {
  const auto above = std::ranges::find_if(
      radial, [&](const RadialWidth& width) { return static_cast<double>(width.radius_mm) > radius_mm; });
  const RadialWidth& high = above == radial.end() ? radial.back() : *above;
  const RadialWidth& low = above == radial.begin() ? high : *(above - 1);
  const double apart = static_cast<double>(high.radius_mm) - static_cast<double>(low.radius_mm);
  const double share = apart > 0 ? (radius_mm - static_cast<double>(low.radius_mm)) / apart : 0;
  const double fwhm = (1 - share) * static_cast<double>(low.fwhm_mm) + share * static_cast<double>(high.fwhm_mm);
  return fwhm / fwhm_per_sigma;
}

RadialProfile profile_at(const DirectKernel& kernel, double s_mm) {
  const double sigma = radial_sigma_mm(kernel.radial, std::abs(s_mm));
  const double side = s_mm > 0 ? 1 : (s_mm < 0 ? -1 : 0);
  double sum = 0;
  for (const RadialPart& part : kernel.parts) sum += static_cast<double>(part.weight);
  RadialProfile profile;
  for (const RadialPart& part : kernel.parts)
    if (part.weight > 0)
      profile.push_back({static_cast<double>(part.weight) / sum, -side * static_cast<double>(part.shift) * sigma,
                         static_cast<double>(part.width) * sigma});
  return profile;
}

}  // namespace

bool DirectKernel::is_symmetric() const {
  return std::ranges::all_of(parts, [](const RadialPart& part) { return part.shift == 0 || part.weight == 0; });
}

bool DirectKernel::is_invariant() const {
  return std::ranges::all_of(radial, [&](const RadialWidth& width) { return width.fwhm_mm == radial.front().fwhm_mm; });
}

void validate(const DirectKernel& kernel) {
  require_kernel_number("tof_sigma_mm", kernel.tof_sigma_mm, kernel.tof_sigma_mm > 0, "positive");
  require_kernel_number("axial_fwhm_mm", kernel.axial_fwhm_mm, kernel.axial_fwhm_mm > 0, "positive");
  require_kernel_number("cut_sigma", kernel.cut_sigma, kernel.cut_sigma >= 1 && kernel.cut_sigma <= 8, "in [1, 8]");
  require_kernel_number("radial_step_mm", kernel.radial_step_mm, kernel.radial_step_mm > 0, "positive");
  validate_radial(kernel.radial);
  validate_parts(kernel.parts);
}

double radial_reach_mm(const RadialProfile& profile, double cuts) {
  double reach = 0;
  for (const RadialGaussian& part : profile) reach = std::max(reach, std::abs(part.centre_mm) + cuts * part.sigma_mm);
  return reach;
}

RadialProfiles::RadialProfiles(const DirectKernel& kernel, double radius_mm)
    : steps_{static_cast<double>(kernel.radial_step_mm), 0} {
  if (!kernel.is_invariant())
    steps_.middle = static_cast<int>(std::ceil(radius_mm / steps_.step_mm));
  else if (!kernel.is_symmetric())
    steps_.middle = 1;
  for (int a = -steps_.middle; a <= steps_.middle; ++a) profiles_.push_back(profile_at(kernel, a * steps_.step_mm));
}

double RadialProfiles::reach_mm(double cuts) const {
  double reach = 0;
  for (const RadialProfile& profile : profiles_) reach = std::max(reach, radial_reach_mm(profile, cuts));
  return reach;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
