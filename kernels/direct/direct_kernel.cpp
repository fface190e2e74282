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
double radial_fwhm_mm(const std::vector<RadialWidth>& radial, double radius_mm) {
  const auto above = std::ranges::find_if(
      radial, [&](const RadialWidth& width) { return static_cast<double>(width.radius_mm) > radius_mm; });
  const RadialWidth& high = above == radial.end() ? radial.back() : *above;
  const RadialWidth& low = above == radial.begin() ? high : *(above - 1);
  const double apart = static_cast<double>(high.radius_mm) - static_cast<double>(low.radius_mm);
  const double share = apart > 0 ? (radius_mm - static_cast<double>(low.radius_mm)) / apart : 0;
  return (1 - share) * static_cast<double>(low.fwhm_mm) + share * static_cast<double>(high.fwhm_mm);
}

RadialProfile profile_at(const DirectKernel& kernel, double s_mm) {
  const double fwhm = radial_fwhm_mm(kernel.radial, std::abs(s_mm)), sigma = fwhm / fwhm_per_sigma;
  const double side = s_mm > 0 ? 1 : (s_mm < 0 ? -1 : 0);
  double sum = 0;
  for (const RadialPart& part : kernel.parts) sum += static_cast<double>(part.weight);
  RadialProfile profile;
  for (const RadialPart& part : kernel.parts)
    if (part.weight > 0)
      profile.push_back({static_cast<double>(part.weight) / sum, -side * static_cast<double>(part.shift) * sigma,
                         radial_sigma_mm(kernel, fwhm, part)});
  return profile;
}

}  // namespace

bool RadialTable::is_symmetric() const {
  return std::ranges::all_of(
      rows, [](const std::vector<float>& row) { return std::equal(row.begin(), row.end(), row.rbegin()); });
}

void validate(const RadialTable& table) {
  const auto refuse = [](const std::string& what) { throw std::invalid_argument("a radial table " + what); };
  if (!(table.offset_step_mm > 0 && std::isfinite(table.offset_step_mm)))
    refuse(fmt::format("needs values a positive offset_step_mm apart, not {:g}", table.offset_step_mm));
  if (table.rows.size() % 2 == 0)
    refuse(fmt::format("has one row for all voxels, or an odd number with the axis in the middle, not {}",
                       table.rows.size()));
  if (table.rows.size() > 1 && !(table.radius_step_mm > 0 && std::isfinite(table.radius_step_mm)))
    refuse(fmt::format("of several rows needs a positive radius_step_mm, not {:g}", table.radius_step_mm));
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const std::vector<float>& row = table.rows[r];
    if (row.size() % 2 == 0)
      refuse(
          fmt::format("has an odd number of values a row, with the voxel in the middle; row {} has {}", r, row.size()));
    const auto wrong = std::ranges::find_if(row, [](float value) { return !(value >= 0 && std::isfinite(value)); });
    if (wrong != row.end()) refuse(fmt::format("has values of at least 0; row {} has {:g}", r, *wrong));
    if (std::ranges::all_of(row, [](float value) { return value == 0; }))
      refuse(fmt::format("has something in each row; row {} is 0", r));
  }
}

bool DirectKernel::is_symmetric() const {
  if (!table.empty()) return table.is_symmetric();
  return std::ranges::all_of(parts, [](const RadialPart& part) { return part.shift == 0 || part.weight == 0; });
}

bool DirectKernel::is_invariant() const {
  if (!table.empty()) return table.rows.size() == 1;
  return std::ranges::all_of(radial, [&](const RadialWidth& width) { return width.fwhm_mm == radial.front().fwhm_mm; });
}

void validate(const DirectKernel& kernel) {
  require_kernel_number("tof_sigma_mm", kernel.tof_sigma_mm, kernel.tof_sigma_mm > 0, "positive");
  require_kernel_number("axial_fwhm_mm", kernel.axial_fwhm_mm, kernel.axial_fwhm_mm > 0, "positive");
  require_kernel_number("cut_sigma", kernel.cut_sigma, kernel.cut_sigma >= 1 && kernel.cut_sigma <= 8, "in [1, 8]");
  require_kernel_number("radial_step_mm", kernel.radial_step_mm, kernel.radial_step_mm > 0, "positive");
  require_kernel_number("radial_blur_mm", kernel.radial_blur_mm, kernel.radial_blur_mm >= 0, "at least 0");
  if (!kernel.table.empty()) return validate(kernel.table);
  validate_radial(kernel.radial);
  validate_parts(kernel.parts);
}

double radial_sigma_mm(const DirectKernel& kernel, double fwhm_mm, const RadialPart& part) {
  return std::hypot(static_cast<double>(part.width) * fwhm_mm / fwhm_per_sigma,
                    static_cast<double>(kernel.radial_blur_mm));
}

DirectKernel with_deposit(DirectKernel kernel, float variance, Vec3 spacing_mm) {
  if (!kernel.table.empty())
    throw std::invalid_argument(
        "a radial table is the whole kernel across the view: put the deposit's blur into its values, and leave "
        "deposit_kernel out");
  const float across_mm = std::sqrt(variance) * 0.5f * (spacing_mm.x + spacing_mm.y),
              axial_mm = std::sqrt(variance) * spacing_mm.z;
  kernel.tof_sigma_mm = std::hypot(kernel.tof_sigma_mm, across_mm);
  kernel.radial_blur_mm = std::hypot(kernel.radial_blur_mm, across_mm);
  kernel.axial_fwhm_mm = std::hypot(kernel.axial_fwhm_mm, axial_mm * static_cast<float>(fwhm_per_sigma));
  return kernel;
}

double radial_reach_mm(const RadialProfile& profile, double cuts) {
  double reach = 0;
  for (const RadialGaussian& part : profile) reach = std::max(reach, std::abs(part.centre_mm) + cuts * part.sigma_mm);
  return reach;
}

RadialProfiles::RadialProfiles(const DirectKernel& kernel, double radius_mm)
    : steps_{static_cast<double>(kernel.radial_step_mm), 0}, table_(kernel.table) {
  if (!table_.empty()) {
    take_table(radius_mm);
    return;
  }
  if (!kernel.is_invariant())
    steps_.middle = static_cast<int>(std::ceil(radius_mm / steps_.step_mm));
  else if (!kernel.is_symmetric())
    steps_.middle = 1;
  for (int a = -steps_.middle; a <= steps_.middle; ++a) profiles_.push_back(profile_at(kernel, a * steps_.step_mm));
}

void RadialProfiles::take_table(double radius_mm) {
  for (std::vector<float>& row : table_.rows) {
    double sum = 0;
    for (const float value : row) sum += static_cast<double>(value);
    for (float& value : row)
      value = static_cast<float>(static_cast<double>(value) / (sum * static_cast<double>(table_.offset_step_mm)));
  }
  if (table_.rows.size() == 1) return;
  steps_ = {static_cast<double>(table_.radius_step_mm), static_cast<int>(table_.rows.size() / 2)};
  const auto needed = static_cast<int>(std::ceil(radius_mm / steps_.step_mm));
  if (steps_.middle < needed)
    throw std::invalid_argument(fmt::format(
        "the radial table has {} rows, {:g} mm apart, and an image that reaches {:.4g} mm from the axis needs {}",
        table_.rows.size(), table_.radius_step_mm, radius_mm, 2 * needed + 1));
}

double RadialProfiles::density(int index, double offset_mm) const {
  if (table_.empty()) return radial_density((*this)[index], offset_mm);
  const std::vector<float>& row = table_.rows[static_cast<std::size_t>(index)];
  const double at = offset_mm / static_cast<double>(table_.offset_step_mm) + static_cast<double>(row.size() / 2);
  const double below = std::floor(at), share = at - below;
  const auto value = [&](double k) {
    return k >= 0 && k < static_cast<double>(row.size()) ? static_cast<double>(row[static_cast<std::size_t>(k)]) : 0.0;
  };
  return (1 - share) * value(below) + share * value(below + 1);
}

double RadialProfiles::reach_mm(double cuts) const {
  double reach = 0;
  for (const std::vector<float>& row : table_.rows)
    reach = std::max(reach, 2 * static_cast<double>(table_.offset_step_mm) * (static_cast<double>(row.size() / 2) + 1));
  for (const RadialProfile& profile : profiles_) reach = std::max(reach, radial_reach_mm(profile, cuts));
  return reach;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
