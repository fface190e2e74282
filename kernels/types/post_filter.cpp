// What an image went through: see post_filter.hpp.
#include "kernels/types/post_filter.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

namespace tofstream {
namespace {

std::string words_of_one(const PostFilter& filter) {
  if (!filter.other.empty()) return filter.other;
  const std::array<float, 3>& fwhm = filter.fwhm_mm;
  if (fwhm[0] == fwhm[1] && fwhm[1] == fwhm[2]) return fmt::format("smoothed by {:.4g} mm FWHM", fwhm[0]);
  return fmt::format("smoothed by {:.4g} x {:.4g} x {:.4g} mm FWHM", fwhm[0], fwhm[1], fwhm[2]);
}

}  // namespace

std::string words_of(const PostFilters& filters) {
  std::string words;
  for (const PostFilter& filter : filters) words += (words.empty() ? "" : ", ") + words_of_one(filter);
  return words;
}

std::optional<double> common_fwhm_mm(const PostFilters& filters) {
  const auto is_gaussian = [](const PostFilter& filter) { return filter.other.empty(); };
  if (filters.empty() || !std::ranges::all_of(filters, is_gaussian)) return std::nullopt;
  std::array<double, 3> squares = {};
  for (const PostFilter& filter : filters)
    for (std::size_t axis = 0; axis < 3; ++axis)
      squares[axis] += static_cast<double>(filter.fwhm_mm[axis]) * static_cast<double>(filter.fwhm_mm[axis]);
  if (squares[0] != squares[1] || squares[1] != squares[2]) return std::nullopt;
  return std::sqrt(squares[0]);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
