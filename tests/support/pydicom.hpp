// A folder in which a test writes DICOM files by a script of pydicom.
#pragma once

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "core/base/private_folder.hpp"
#include "tests/support/skip.hpp"

namespace tofstream {

struct PydicomFolder {
  PrivateTemporaryFolder folder;
  std::string python;

  /// Writes the script into the folder, and reads what it makes. False where the test must return: no pydicom, or no
  /// GDCM in the build.
  template <class Read>
  bool prepare(const char* script, Read&& read) {
    for (const char* candidate : {"python3", "/usr/bin/python3"})
      if (python.empty() &&
          std::system(fmt::format("{} -c 'import numpy, pydicom' >/dev/null 2>&1", candidate).c_str()) == 0)
        python = candidate;
    if (python.empty()) {
      skip_test("pydicom");
      return false;
    }
    std::ofstream(folder.path() / "write.py") << script;
    try {
      read();
    } catch (const std::runtime_error& refused) {
      if (std::string(refused.what()).find("this build has no DICOM reader") == std::string::npos) throw;
      skip_test("GDCM in this build");
      return false;
    }
    return true;
  }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
