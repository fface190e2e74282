// The frames of a dynamic scan: stretches of scan time, each of which becomes an image.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gadgets/payloads.hpp"

namespace tofstream {

inline constexpr auto* frames_words =
    "Frames in order of time: 6x10 stands for six of 10 s, 30 for one of 30 s, each behind the one before it, the "
    "first "
    "from scan time 0 on; 20-35 for one from 20 s to 35 s. What lies between frames is left out";

/// The frames that such words say, numbered from 1. Throws std::invalid_argument that names the first word that says
/// none, or a frame that begins before the one before it ends; for no frame; and for more than 100000.
std::vector<ScanFrame> read_frames(const std::vector<std::string>& words);

/// The same of a table with start_s and duration_s. Throws as formats::read_frame_times_table() does.
std::vector<ScanFrame> read_frame_table(const std::filesystem::path& file);

/// "frame 3 (20 to 30 s)"
std::string in_words(const ScanFrame& frame);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
