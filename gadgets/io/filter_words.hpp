// The words in which an image says that a Gaussian smoothed it: for who smooths, and for writers whose format asks for
// the filter's width.
#pragma once

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace tofstream {

inline constexpr std::string_view smoothed_by = "smoothed by ", fwhm_in_mm = " mm FWHM";

/// "smoothed by 5 mm FWHM", "smoothed by 5 x 5 x 3 mm FWHM"
inline std::string smoothing_words(const std::array<float, 3>& fwhm) {
  if (fwhm[0] == fwhm[1] && fwhm[1] == fwhm[2]) return fmt::format("{}{:.4g}{}", smoothed_by, fwhm[0], fwhm_in_mm);
  return fmt::format("{}{:.4g} x {:.4g} x {:.4g}{}", smoothed_by, fwhm[0], fwhm[1], fwhm[2], fwhm_in_mm);
}

/// The FWHM in mm of one Gaussian that is the same along all axes; nothing for other words.
inline std::optional<double> smoothing_fwhm_mm(std::string_view words) {
  if (!words.starts_with(smoothed_by) || !words.ends_with(fwhm_in_mm)) return std::nullopt;
  words.remove_prefix(smoothed_by.size());
  words.remove_suffix(fwhm_in_mm.size());
  double fwhm = 0;
  const auto [end, error] = std::from_chars(words.data(), words.data() + words.size(), fwhm);
  if (error != std::errc{} || end != words.data() + words.size()) return std::nullopt;
  return fwhm;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
