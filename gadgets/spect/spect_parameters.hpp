// Parameters that the projector and the simulator of a camera declare alike.
#pragma once

#include <filesystem>
#include <string>

#include "core/value/params.hpp"
#include "gadgets/spect/io/camera_yaml.hpp"
#include "kernels/spect/psf.hpp"
#include "kernels/types/views.hpp"

namespace tofstream {

inline constexpr auto* camera_words =
    "A camera of share/scanners, or a YAML file: its collimator's point spread and its sensitivity; none: neither";

/// The point spread: the camera's, unless it is given here.
struct PsfParams {
  float slope = 0, sigma0_mm = 0, intrinsic_fwhm_mm = 0;
  std::filesystem::path table;
  static constexpr auto params = describe(
      param<&PsfParams::slope>("slope", range(0, 1), "sigma of the collimator = slope x depth + sigma0_mm, mm a mm"),
      param<&PsfParams::sigma0_mm>("sigma0_mm", range(0, 100), unit("mm"), "sigma of the collimator at its face"),
      param<&PsfParams::intrinsic_fwhm_mm>("intrinsic_fwhm_mm", range(0, 100), unit("mm"),
                                           "Resolution of the crystal, added in squares"),
      param<&PsfParams::table>("table", reads_file,
                               "YAML of kernels at several depths, also asymmetric ones (share/doc/spect.md)"));

  bool is_given() const { return slope > 0 || sigma0_mm > 0 || intrinsic_fwhm_mm > 0 || !table.empty(); }
  /// The model, of the camera where nothing is given. Throws std::runtime_error for a table that cannot be read,
  /// std::invalid_argument for a table beside numbers.
  PsfModel model(const PsfModel& of_camera) const;
};

/// The middle of the window that is reconstructed; 0 where its limits are not known.
double photopeak_keV(const ViewSet& views);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
