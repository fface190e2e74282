// Where a command's text goes: a file that appears by rename, or standard output.
#pragma once

#include <filesystem>
#include <string_view>

namespace tofstream::command {

/// Writes `text` to `file`, or prints it where `file` is empty or "-". Throws std::system_error that names the file.
void deliver(std::string_view text, const std::filesystem::path& file);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
