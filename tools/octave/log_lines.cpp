// Lines of the library's log: see log_lines.hpp.
#include "log_lines.hpp"

#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

#include <tofstream.h>

#include "values.hpp"

namespace tofstream::octave {
namespace {

std::mutex lines_mutex;
std::vector<std::string> lines;

void collect_line(void* /*user*/, std::int32_t /*level*/, const char* line) noexcept {
  try {
    const std::lock_guard lock(lines_mutex);
    lines.emplace_back(line);
  } catch (const std::bad_alloc&) {  // the call that needs the memory says so itself
  }
}

}  // namespace

void collect_log_lines() {
  if (tof_log(collect_line, nullptr, "warning") != TOF_OK) throw Refused("internal", tof_error());
}

std::vector<std::string> take_log_lines() {
  const std::lock_guard lock(lines_mutex);
  return std::exchange(lines, {});
}

}  // namespace tofstream::octave
// SPDX-License-Identifier: Apache-2.0
