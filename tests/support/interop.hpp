// The folder of streams that PETSIRD's own software wrote, which is no part of the sources.
#pragma once

#include <cstdlib>
#include <filesystem>

#include "tests/support/skip.hpp"

namespace tofstream {

/// What TOFSTREAM_INTEROP_DATA names; empty, and the test must return, where it is not set.
inline std::filesystem::path interop_folder_or_skip() {
  const char* folder = std::getenv("TOFSTREAM_INTEROP_DATA");
  if (folder && *folder != '\0') return folder;
  skip_test("TOFSTREAM_INTEROP_DATA, which names a folder of files by PETSIRD's own software");
  return {};
}

}  // namespace tofstream
