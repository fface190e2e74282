// Files that appear by rename: written under a temporary name in the same folder and named at
// commit, so that a reader, a crash or a full disk never leaves half a file under the final name.
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace tofstream {

// Every error is a std::system_error whose text names the file and the cause ("No space left on
// device").
class AtomicFile {
 public:
  // Opens a new temporary file beside `path`; its folder must exist. The file has its mode from the start (what the
  // process's umask takes away left out), so that nobody can open what is to be secret before it is narrowed.
  explicit AtomicFile(std::filesystem::path path, mode_t mode = 0666);
  // Removes the temporary file unless it was committed.
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  // Writes over what was written before, `offset` bytes from the start (a header whose counts come
  // last).
  void write_at(std::size_t offset, std::span<const std::byte> bytes);

  // Gives the file its name, replacing an older one. What is on disk then outlives a power failure, unless it is left
  // to the system when to flush: for what will soon be written again.
  enum class Flush { now, later };
  void commit(Flush flush = Flush::now);

  const std::filesystem::path& path() const { return path_; }

 private:
  [[noreturn]] void fail(const char* action, int cause) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
