// The programs of the sources' tools/ folder, which tests run as a user does.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/skip.hpp"

namespace tofstream {

/// The path of tools/NAME. Empty, and the test must return, if there is none (an installed test has no sources) or no
/// Python to run it.
inline std::filesystem::path script_or_skip(const std::string& name) {
  const std::filesystem::path script = std::filesystem::path("tools") / name;
  if (!std::filesystem::exists(script))
    skip_test("sources beside the test, with tools/" + name);
  else if (std::system("python3 --version >/dev/null 2>&1") != 0)
    skip_test("Python", "TOFSTREAM_REQUIRE_PYTHON");
  else
    return script;
  return {};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
