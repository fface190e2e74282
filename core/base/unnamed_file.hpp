// A file without a name: it is gone when the program ends, however it ends.
#pragma once
#include <filesystem>

namespace tofstream {

// Opens one in the folder, to read and write. A descriptor that the caller closes; negative (and errno) where the
// folder takes no files.
int open_unnamed_file(const std::filesystem::path& folder);

}  // namespace tofstream
