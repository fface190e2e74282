// Files that appear whole or not at all: written under a temporary name in the target's folder,
// then renamed over the target.
#pragma once

#include <filesystem>

namespace tofstream {

/// A temporary name beside `target`. Removed on destruction unless committed.
class TemporaryFile {
 public:
  /// Makes an empty file of that name. Throws std::runtime_error when the folder cannot be written.
  explicit TemporaryFile(std::filesystem::path target);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  /// Where to write.
  const std::filesystem::path& path() const { return path_; }
  /// Renames to the target, replacing it. Call once the file is closed and known to be whole.
  /// Throws std::runtime_error when that fails.
  void commit();

 private:
  std::filesystem::path target_, path_;
  bool committed_ = false;
};

}  // namespace tofstream
