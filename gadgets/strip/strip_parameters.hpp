// Parameters that the gadgets of strips declare alike, so that a top-level key of a pipeline sets them all.
#pragma once

#include "core/value/params.hpp"
#include "gadgets/strip/io/strip_events.hpp"
#include "kernels/strip/resolution.hpp"

namespace tofstream {

namespace formats {
constexpr auto enum_names(StripFormat) {
  return names(StripFormat::text, "text", StripFormat::float32, "float32");
}
constexpr auto enum_names(StripUnit) {
  return names(StripUnit::mm, "mm", StripUnit::m, "m");
}
}  // namespace formats

inline constexpr auto* strip_scanner_words = "Two strips of share/scanners, or a YAML file";
inline constexpr auto* strip_format_words =
    "text: a line `z_u z_d dl` an event; float32: the same three numbers in binary, little-endian";

/// `resolution: {sigma_z_mm: 10, sigma_dl_mm: 40}`
struct StripResolutionParams {
  float sigma_z_mm = StripResolution{}.sigma_z_mm;
  float sigma_dl_mm = StripResolution{}.sigma_dl_mm;
  float sigma_z_edge_rise = StripResolution{}.sigma_z_edge_rise;
  float gamma_per_mm2 = StripResolution{}.gamma_per_mm2;
  static constexpr auto params = describe(
      param<&StripResolutionParams::sigma_z_mm>("sigma_z_mm", range(1e-3, 1e3), unit("mm"),
                                                "Standard deviation (not FWHM) along a strip, at its centre"),
      param<&StripResolutionParams::sigma_dl_mm>(
          "sigma_dl_mm", range(1e-3, 1e3), unit("mm"),
          "Standard deviation of the difference of paths: twice that of the position along the line"),
      param<&StripResolutionParams::sigma_z_edge_rise>(
          "sigma_z_edge_rise", range(0, 10), "Relative increase of sigma_z towards a strip's end; 0.1 was measured"),
      param<&StripResolutionParams::gamma_per_mm2>(
          "gamma_per_mm2", range(-1, 1), unit("1/mm^2"),
          "Coupling of dl and z in the inverse covariance (Bialas et al. 2015, eq. 12)"));

  StripResolution resolution() const { return {sigma_z_mm, sigma_dl_mm, sigma_z_edge_rise, gamma_per_mm2}; }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
