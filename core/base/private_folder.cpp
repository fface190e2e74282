#include "core/base/private_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/make_folder.hpp"

namespace tofstream {

namespace fs = std::filesystem;

bool make_private_folder(const fs::path& folder) {
  // The last name of "keys/" is empty, and its parent is "keys".
  const fs::path named = folder.has_filename() ? folder : folder.parent_path();
  if (named.has_parent_path()) make_folder(named.parent_path());
  if (::mkdir(named.c_str(), 0700) == 0) return true;
  return make_folder(folder);  // it is there, or this says what is wrong
}

std::string why_not_ours(const fs::path& folder) {
  const auto of_another = [](const struct stat& status, const char* what) {
    return fmt::format("is {} of another user (uid {})", what, status.st_uid);
  };
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) return fmt::format("cannot be read: {}", std::strerror(errno));
  if (S_ISLNK(status.st_mode) && status.st_uid != ::geteuid()) return of_another(status, "a link");
  if (::stat(folder.c_str(), &status) != 0) return fmt::format("cannot be read: {}", std::strerror(errno));
  if (!S_ISDIR(status.st_mode)) return "is no folder";
  if (status.st_uid != ::geteuid()) return of_another(status, "a folder");
  if (status.st_mode & (S_IWGRP | S_IWOTH))
    return fmt::format("is a folder in which others may write (empty it, then chmod 700 {})", folder.string());
  if (status.st_mode & 0077) ::chmod(folder.c_str(), 0700);
  return {};
}

PrivateTemporaryFolder::PrivateTemporaryFolder(fs::path in) {
  constexpr std::size_t longest = 80;  // a socket's path must stay below 108 bytes
  if (in.empty()) {
    in = fs::temp_directory_path();
    if (in.string().size() > longest) in = "/tmp";
  }
  std::string name = (in / "tofstream-XXXXXX").string();
  if (!::mkdtemp(name.data()))
    throw std::runtime_error(fmt::format("cannot make a folder in {}: {}", in.string(), std::strerror(errno)));
  path_ = name;
}

PrivateTemporaryFolder::~PrivateTemporaryFolder() {
  std::error_code none;
  fs::remove_all(path_, none);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
