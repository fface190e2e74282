// Functions of scan time from CSV tables with a line of column names.
#pragma once

#include <filesystem>
#include <vector>

#include "kernels/dynamic/time_function.hpp"

namespace tofstream::formats {

/// Reads `time_s` and `value`. Columns may come in any order; others are not looked at; lines that begin with # are
/// comments. Throws std::runtime_error, in one line with the file, for a column that is missing, what is no number, and
/// what is no TimeFunction.
TimeFunction read_time_function(const std::filesystem::path& file);

/// Reads `time_s` and as many of `f1`, `f2`, ... as there are, at most most_functions (nested_em.hpp). Throws likewise.
std::vector<TimeFunction> read_time_functions(const std::filesystem::path& file);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
