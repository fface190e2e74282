// When the frames of an image were, as the JSON beside it says (nifti/bids_json.hpp writes it).
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace tofstream {

/// Scan times, from the scan's start.
struct FrameTimes {
  std::vector<double> start_s, duration_s;
};

/// image.json of image.nii or image.nii.gz.
std::filesystem::path frame_times_path(const std::filesystem::path& image);

/// The times beside an image of so many frames; nothing where there is no such file. Throws std::runtime_error, one
/// line that names the file, where it is not JSON or its times are not those of so many frames.
std::optional<FrameTimes> read_frame_times(const std::filesystem::path& image, std::size_t frames);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
