// How a test says that it could not look, since what it needs is not here.
#pragma once

#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

namespace tofstream {

/// What the test case that runs now lacks; "" for nothing. At its end main.cpp prints 'skipped: no WHAT', by which
/// ctest counts it as skipped (tests/CMakeLists.txt) - unless it has failed: those words would hide that.
inline std::string& lacking() {
  static std::string what;
  return what;
}

/// Whether the test case that runs now has a GPU to look at: main.cpp counts those.
inline bool& uses_gpu() {
  static bool uses = false;
  return uses;
}

/// The test returns behind this without having looked at anything. Where `demand`, an environment variable, is 1, it
/// fails instead.
inline void skip_test(const std::string& what, const char* demand = nullptr) {
  const char* demanded = demand ? std::getenv(demand) : nullptr;
  if (demanded && std::string(demanded) == "1") FAIL(demand, "=1, but there is no ", what);
  lacking() = what;
}

}  // namespace tofstream
