#include "core/base/make_folder.hpp"

#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

namespace tofstream {

namespace fs = std::filesystem;

bool make_folder(const fs::path& folder) {
  std::error_code wrong;
  const bool made = fs::create_directories(folder, wrong);
  if (!wrong && fs::is_directory(folder, wrong)) return made;
  for (fs::path part = folder; !part.empty() && part != part.parent_path(); part = part.parent_path())
    if (std::error_code none; fs::exists(part, none) && !fs::is_directory(part, none))
      throw std::runtime_error(fmt::format("{} is a file, and no folder", part.string()));
  throw std::runtime_error(fmt::format("{} cannot be made: {}", folder.string(), wrong.message()));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
