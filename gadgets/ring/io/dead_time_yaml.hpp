// Dead times of modules as YAML: `model: paralysable`, `dead_time_us: [..]`, one number a module in the order of
// PETSIRD's modules, type after type. What an estimate says beside these is read by people.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kernels/correct/dead_time.hpp"

namespace tofstream::formats {

struct ModuleDeadTimes {
  DeadTimeModel model = DeadTimeModel::non_paralysable;
  std::vector<double> dead_time_us;
};

/// Throws std::runtime_error, one line file:line:column: message, for bad YAML, unknown keys and numbers out of range.
ModuleDeadTimes parse_dead_times(const std::string& text, const std::string& file);
ModuleDeadTimes read_dead_times(const std::filesystem::path& file);

/// Writes a file that read_dead_times() reads; it appears by rename, or not at all. `errors_us`: one a module;
/// `comments`: lines at its head. Throws std::system_error when it cannot be written.
void write_dead_times(const std::filesystem::path& file, const ModuleDeadTimes& times,
                      const std::vector<double>& errors_us, const std::vector<std::string>& comments);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
