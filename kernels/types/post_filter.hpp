// What an image went through after its reconstruction: Gaussians that smoothed it, and others in words.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace tofstream {

struct PostFilter {
  std::array<float, 3> fwhm_mm = {};  // of a Gaussian along x, y and z
  std::string other = {};             // in words, where it was not a Gaussian's smoothing alone
  friend bool operator==(const PostFilter&, const PostFilter&) = default;
};

/// In the order in which they were applied; none: the image is as the update made it.
using PostFilters = std::vector<PostFilter>;

/// "smoothed by 5 mm FWHM", "smoothed by 5 x 5 x 3 mm FWHM, smoothed by 2 mm FWHM"; empty where there are none.
std::string words_of(const PostFilters& filters);

/// FWHM in mm of the one Gaussian that all filters together are (their variances add up), where they are Gaussians and it
/// is the same along all axes; else nothing, and where there are no filters.
std::optional<double> common_fwhm_mm(const PostFilters& filters);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
