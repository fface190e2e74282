// For tests that run Python gadgets: an interpreter with NumPy and pyzmq, and the processes and files that are left.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "tests/support/skip.hpp"

namespace tofstream {

/// The first of TOFSTREAM_PYTHON, python3 and /usr/bin/python3 that has both; "" if none has.
inline const std::string& python_with_numpy() {
  static const std::string found = [] {
    const char* set = std::getenv("TOFSTREAM_PYTHON");
    for (const std::string& python :
         {std::string(set ? set : ""), std::string("python3"), std::string("/usr/bin/python3")})
      if (!python.empty() && std::system((python + " -c 'import numpy, zmq' >/dev/null 2>&1").c_str()) == 0)
        return python;
    return std::string();
  }();
  return found;
}

/// True if there is none; the test must then return. TOFSTREAM_REQUIRE_PYTHON=1 makes that a failure.
inline bool skip_without_numpy() {
  if (!python_with_numpy().empty()) return false;
  skip_test("NumPy and pyzmq", "TOFSTREAM_REQUIRE_PYTHON");
  return true;
}

/// Processes, zombies too, whose parent is this one.
inline std::vector<int> child_processes() {
  std::vector<int> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    if (!std::getline(file, stat)) continue;
    int parent = 0;
    char state = 0;
    if (std::sscanf(stat.c_str() + stat.rfind(')') + 1, " %c %d", &state, &parent) == 2 && parent == ::getpid())
      all.push_back(std::atoi(stat.c_str()));
  }
  return all;
}

/// Names in a folder that begin with `prefix`.
inline std::size_t count_files(const std::filesystem::path& folder, const std::string& prefix) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    count += entry.path().filename().string().starts_with(prefix) ? 1 : 0;
  return count;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
