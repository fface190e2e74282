// A folder and those that it lies in.
#pragma once

#include <filesystem>

namespace tofstream {

// Makes the folder; true if it was not there. Throws std::runtime_error, in words like "results is a file, and no
// folder".
bool make_folder(const std::filesystem::path& folder);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
