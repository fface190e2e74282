#include "core/base/atomic_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tofstream {
namespace {

// mkstemp gives 0600; the file gets the permissions that an ordinary new file would have.
mode_t ordinary_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  std::string name = path_.string() + ".XXXXXX";
  descriptor_ = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail("cannot create", errno);
  temporary_ = name;
  static const mode_t mode = ordinary_mode();
  fchmod(descriptor_, mode);
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
