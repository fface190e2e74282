// The folder of streams written by PETSIRD's own software, which is not part of the sources.
#pragma once

#include <cstdlib>
#include <filesystem>

#include "tests/support/skip.hpp"

namespace tofstream {

/// The folder that TOFSTREAM_INTEROP_DATA names; if that is not set, empty, and the test must return.
inline std::filesystem::path interop_folder_or_skip() {
  const char* folder = std::getenv("TOFSTREAM_INTEROP_DATA");
  if (folder && *folder != '\0') return folder;
  skip_test("TOFSTREAM_INTEROP_DATA, which names a folder of files by PETSIRD's own software");
  return {};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
