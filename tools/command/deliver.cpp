// Where a command's text goes: see deliver.hpp.
#include "tools/command/deliver.hpp"

#include <fmt/format.h>

#include "core/base/atomic_file.hpp"

namespace tofstream::command {

void deliver(std::string_view text, const std::filesystem::path& file) {
  if (file.empty() || file == "-") {
    fmt::print("{}", text);
    return;
  }
  AtomicFile out(file);
  out.write(text);
  out.commit();
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
