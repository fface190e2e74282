// Times of frames from CSV tables with a line of column names.
#pragma once

#include <filesystem>

#include "gadgets/io/nifti/frame_times.hpp"

namespace tofstream::formats {

inline constexpr int most_frames = 100'000;
inline constexpr double latest_frame_s = 1e9;
/// Sums of lengths that are no binary fractions differ from times by rounding: an overlap by less is none.
inline constexpr double frame_rounding_s = 1e-6;

/// Reads `start_s`, from the scan's start, and `duration_s`, a row for each frame. Columns may come in any order; others
/// are not looked at; lines that begin with # are comments. Throws std::runtime_error, in one line with file and line,
/// for a column that is missing, what is no number, a start that is negative or before the end of the frame above, a
/// length that is not positive, more than most_frames rows, times beyond latest_frame_s, and a table without a row.
FrameTimes read_frame_times_table(const std::filesystem::path& file);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
