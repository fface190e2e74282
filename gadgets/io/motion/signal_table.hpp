// Signals of a movement over scan time, and the triggers of its cycles, as belts and ECGs give them: CSV with a line of
// column names.
#pragma once

#include <filesystem>

#include "kernels/gating/gates.hpp"

namespace tofstream::formats {

/// Reads `time_s` and, where there is such a column, `value`: a signal. Without `value`, times are those of triggers, and
/// the signal has no values. Columns may come in any order; others are not looked at; lines that begin with # are
/// comments. Throws std::runtime_error, in one line with file and line, for a column time_s that is missing, what is no
/// number, times that do not ascend, and a table without a row.
MotionSignal read_signal_table(const std::filesystem::path& file);

/// Writes the same, whole or not at all. Throws std::system_error where it cannot be written.
void write_signal_table(const std::filesystem::path& file, const MotionSignal& signal);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
