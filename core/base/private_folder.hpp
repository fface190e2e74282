// Folders that are their owner's alone: for what others must not read, and for what is believed when it is found again.
#pragma once

#include <filesystem>
#include <string>

namespace tofstream {

// Makes the folder and those that it lies in; the last is its owner's alone (mode 0700) where it is new, and stays as
// it is where it is there. True where it was not there. Throws std::runtime_error as make_folder does.
bool make_private_folder(const std::filesystem::path& folder);

// Why a folder that is there must not be believed, in words that follow its name ("is a folder of another user (uid 1001)"):
// another user's, another user's link, or one in which others may write. Empty where it is this user's own; what others
// may merely read is closed to them.
std::string why_not_ours(const std::filesystem::path& folder);

// A new folder with a name that nobody knows beforehand; it is removed with all that is in it.
class PrivateTemporaryFolder {
 public:
  // In the folder of that name; without one in the system's for temporary files, and then its path is short enough for a
  // socket in it. Throws std::runtime_error where none can be made.
  explicit PrivateTemporaryFolder(std::filesystem::path in = {});
  ~PrivateTemporaryFolder();
  PrivateTemporaryFolder(const PrivateTemporaryFolder&) = delete;
  PrivateTemporaryFolder& operator=(const PrivateTemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
