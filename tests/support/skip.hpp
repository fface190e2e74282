// How a test says that it was skipped because something it needs is missing.
#pragma once

#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

namespace tofstream {

/// What the running test case lacks; "" for nothing. At its end main.cpp prints 'skipped: no WHAT', by which ctest
/// counts it as skipped (tests/CMakeLists.txt), unless it has failed, which these words would hide.
inline std::string& lacking() {
  static std::string what;
  return what;
}

/// Whether the running test case has used a GPU: main.cpp counts these.
inline bool& uses_gpu() {
  static bool uses = false;
  return uses;
}

/// After this the test returns without having checked anything. If `demand`, an environment variable, is 1, it fails
/// instead.
inline void skip_test(const std::string& what, const char* demand = nullptr) {
  const char* demanded = demand ? std::getenv(demand) : nullptr;
  if (demanded && std::string(demanded) == "1") FAIL(demand, "=1, but there is no ", what);
  lacking() = what;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
