// Point spread models: see psf.hpp.
#include "kernels/spect/psf.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/math/units.hpp"

namespace tofstream {

namespace {

void require_psf_number(const char* name, float value, bool is_right) {
  if (!(std::isfinite(value) && is_right)) throw std::invalid_argument(fmt::format("psf.{} cannot be {}", name, value));
}

/// Length of the holes that photons cannot pass.
double blind_length_mm(const HolesPsf& holes) {
  const double passed = holes.septa_mu_per_mm > 0 ? 2 / static_cast<double>(holes.septa_mu_per_mm) : 0.0;
  return static_cast<double>(holes.length_mm) - passed;
}

void validate_model(const std::monostate& /*none*/) {}

void validate_model(const GaussianPsfModel& model) {
  require_psf_number("slope", model.slope, model.slope >= 0);
  require_psf_number("sigma0_mm", model.sigma0_mm, model.sigma0_mm >= 0);
  require_psf_number("intrinsic_mm", model.intrinsic_mm, model.intrinsic_mm >= 0);
}

void validate_model(const HolesPsf& model) {
  require_psf_number("hole_mm", model.hole_mm, model.hole_mm > 0);
  require_psf_number("length_mm", model.length_mm, model.length_mm > 0);
  require_psf_number("septa_mu_per_mm", model.septa_mu_per_mm, model.septa_mu_per_mm >= 0);
  require_psf_number("gap_mm", model.gap_mm, model.gap_mm >= 0);
  require_psf_number("intrinsic_mm", model.intrinsic_mm, model.intrinsic_mm >= 0);
  if (!(blind_length_mm(model) > 0))
    throw std::invalid_argument(
        fmt::format("psf.length_mm of {} mm is less than what photons pass of septa of {} per mm", model.length_mm,
                    model.septa_mu_per_mm));
}

void validate_model(const KernelTable& table) {
  constexpr int largest_table = 1023;
  for (const int size : {table.across, table.along})
    if (size < 1 || size > largest_table || size % 2 == 0)
      throw std::invalid_argument(
          fmt::format("kernels of psf.table must have an odd size in [1, {}], not {}", largest_table, size));
  if (table.depths_mm.empty()) throw std::invalid_argument("psf.table has no depth");
  for (std::size_t i = 0; i < table.depths_mm.size(); ++i)
    if (!std::isfinite(table.depths_mm[i]) || (i > 0 && table.depths_mm[i] <= table.depths_mm[i - 1]))
      throw std::invalid_argument(fmt::format("depths of psf.table must ascend, and depth {} does not", i));
  const std::size_t expected =
      table.depths_mm.size() * static_cast<std::size_t>(table.across) * static_cast<std::size_t>(table.along);
  if (table.values.size() != expected)
    throw std::invalid_argument(fmt::format("psf.table has {} values and needs {} x {} x {}", table.values.size(),
                                            table.depths_mm.size(), table.along, table.across));
  if (!std::ranges::all_of(table.values, [](float value) { return std::isfinite(value) && value >= 0; }))
    throw std::invalid_argument("values of psf.table must be finite and not negative");
}

double collimator_sigma_mm(const GaussianPsfModel& model, double depth_mm) {
  return static_cast<double>(model.slope) * depth_mm + static_cast<double>(model.sigma0_mm);
}
double collimator_sigma_mm(const HolesPsf& model, double depth_mm) {
  const double length = blind_length_mm(model);
  return static_cast<double>(model.hole_mm) * (length + static_cast<double>(model.gap_mm) + depth_mm) / length /
         fwhm_per_sigma;
}

}  // namespace

void validate(const PsfModel& model) {
  std::visit([](const auto& one) { validate_model(one); }, model);
}

double psf_sigma_mm(const PsfModel& model, double depth_mm) {
  if (std::holds_alternative<std::monostate>(model)) return 0;
  if (std::holds_alternative<KernelTable>(model))
    throw std::logic_error("a table of kernels has no standard deviation");
  const auto sigma = [&](const auto& gaussian) {
    return std::hypot(collimator_sigma_mm(gaussian, depth_mm), static_cast<double>(gaussian.intrinsic_mm));
  };
  if (const auto* holes = std::get_if<HolesPsf>(&model)) return sigma(*holes);
  return sigma(std::get<GaussianPsfModel>(model));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
