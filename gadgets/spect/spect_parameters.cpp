// What a camera's parameters mean: see spect_parameters.hpp.
#include "gadgets/spect/spect_parameters.hpp"

#include <stdexcept>

#include "gadgets/spect/io/kernel_table.hpp"
#include "kernels/math/units.hpp"

namespace tofstream {

PsfModel PsfParams::model(const PsfModel& of_camera) const {
  if (!is_given()) return of_camera;
  if (table.empty()) return GaussianPsfModel{slope, sigma0_mm, static_cast<float>(intrinsic_fwhm_mm / fwhm_per_sigma)};
  if (slope > 0 || sigma0_mm > 0 || intrinsic_fwhm_mm > 0)
    throw std::invalid_argument("psf: give a table, or slope, sigma0_mm and intrinsic_fwhm_mm, not both");
  return formats::read_kernel_table(table);
}

double photopeak_keV(const ViewSet& views) {
  if (views.windows.empty()) return 0;
  const EnergyWindow& window = views.windows.front();
  return 0.5 * (static_cast<double>(window.low_keV) + static_cast<double>(window.high_keV));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
