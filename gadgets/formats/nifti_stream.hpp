// Plain or gzip byte streams of libznz with every result checked. Internal to nifti.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <znzlib.h>

namespace tofstream::detail {

class ZnzStream {
 public:
  /// `name`: what messages call the file. Throws std::runtime_error when it cannot be opened.
  ZnzStream(const std::filesystem::path& path, const char* mode, bool gzip, std::filesystem::path name)
      : name_(std::move(name)), file_(znzopen(path.c_str(), mode, gzip ? 1 : 0)) {
    if (znz_isnull(file_)) throw std::runtime_error(fmt::format("cannot open {}", name_.string()));
  }
  ZnzStream(const ZnzStream&) = delete;
  ZnzStream& operator=(const ZnzStream&) = delete;
  ~ZnzStream() {
    if (!znz_isnull(file_)) znzclose(file_);
  }

  /// Throws std::system_error on a short write.
  void write(const void* data, std::size_t bytes) {
    errno = 0;
    if (bytes > 0 && znzwrite(data, 1, bytes, file_) != bytes) fail();
  }
  /// Flushes and closes. Throws std::system_error when that fails.
  void close() {
    errno = 0;
    if (znzclose(file_) != 0) fail();
  }
  /// False when fewer bytes are left, or gzip finds the stream broken.
  bool read(void* data, std::size_t bytes) { return znzread(data, 1, bytes, file_) == bytes; }
  bool seek(std::int64_t offset) { return znzseek(file_, offset, SEEK_SET) >= 0; }

 private:
  [[noreturn]] void fail() const {
    throw std::system_error(errno ? errno : EIO, std::generic_category(), "cannot write " + name_.string());
  }
  std::filesystem::path name_;
  znzFile file_;
};

}  // namespace tofstream::detail
