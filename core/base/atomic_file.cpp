#include "core/base/atomic_file.hpp"

#include <cerrno>
#include <random>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace tofstream {
namespace {

// Six random characters: nobody can know the name beforehand.
std::string random_suffix() {
  constexpr std::string_view characters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  std::uniform_int_distribution<std::size_t> any(0, characters.size() - 1);
  std::string suffix;
  for (int n = 0; n < 6; ++n) suffix += characters[any(random)];
  return suffix;
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path, mode_t mode) : path_(std::move(path)) {
  // Not mkstemp: it gives 0600, and a mode that is widened later is wider than asked for while that takes.
  for (int tries = 0; descriptor_ < 0; ++tries) {
    temporary_ = path_.string() + "." + random_suffix();
    descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor_ < 0 && (errno != EEXIST || tries == 100)) fail("cannot create", errno);
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void AtomicFile::write_at(std::size_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write", errno);
    offset += static_cast<std::size_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit(Flush flush) {
  if (descriptor_ < 0) fail("cannot write", EBADF);
  // Some file systems do not know fsync (EINVAL); a full disk may show itself only here.
  if (flush == Flush::now && ::fsync(descriptor_) != 0 && errno != EINVAL) fail("cannot write", errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot write", errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) fail("cannot write", errno);
}

void AtomicFile::fail(const char* action, int cause) const {
  throw std::system_error(cause, std::generic_category(), std::string(action) + " " + path_.string());
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
