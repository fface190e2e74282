// The file beside a dynamic image that says when its frames were: JSON with the keys that BIDS has for PET (Knoesel et
// al., Scientific Data 9 (2022) 65; bids-specification, positron emission tomography), as far as we know their values.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tofstream {

/// Scan times, from the scan's start.
struct FrameTimes {
  std::vector<double> start_s, duration_s;
};

/// image.json of image.nii or image.nii.gz.
std::filesystem::path frame_times_path(const std::filesystem::path& image);

/// Writes FrameTimesStart and FrameDuration in s, Units where `unit` is not empty, and whether the image is corrected
/// for decay, then to the scan's start. The file appears by rename. Throws std::runtime_error where it cannot be
/// written.
void write_frame_times(const std::filesystem::path& image, const FrameTimes& times, const std::string& unit,
                       bool is_decay_corrected);

/// The times beside an image of so many frames; nothing where there is no such file. Throws std::runtime_error, one
/// line that names the file, where it is not JSON or its times are not those of so many frames.
std::optional<FrameTimes> read_frame_times(const std::filesystem::path& image, std::size_t frames);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
