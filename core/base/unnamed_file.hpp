// A file without a name: it is gone when the program ends, however it ends.
#pragma once
#include <filesystem>

namespace tofstream {

// Opens such a file in the folder, to read and write. Returns a descriptor, which the caller closes; negative (and
// errno) if no file can be made in the folder.
int open_unnamed_file(const std::filesystem::path& folder);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
