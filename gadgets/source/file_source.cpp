// Reads a file or a pipe in pieces as they come (short reads), so that a slow pipe delivers each piece at once. What gzip
// packed is unpacked.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/gadget.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/unpack.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {
namespace {

struct FileSource {
  struct Params {
    std::filesystem::path path;
    int chunk_kib = 1024;
  };
  static constexpr auto params =
      describe(param<&Params::path>("path", required, reads_file,
                                    "File or named pipe to read, compressed by gzip or not; - is standard input"),
               param<&Params::chunk_kib>("chunk_kib", range(1, 1 << 20), unit("KiB"), "Largest piece read at once"));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(const Params& p) {
    return {.message_bytes = std::size_t{1024} * static_cast<std::size_t>(p.chunk_kib), .lower = "chunk_kib"};
  }

  explicit FileSource(const Params& p) : path_(p.path), chunk_bytes_(static_cast<std::size_t>(p.chunk_kib) * 1024) {
    if (path_ == "-") return;
    // And no more: opening a named pipe waits for its writer, so that run() does it.
    require_readable(path_, "--input FILE names another");
    if (std::filesystem::is_directory(path_))
      throw std::runtime_error(fmt::format("{} is a folder: name a file", path_.string()));
  }

  void run(Emit<ByteBlock>& emit, std::stop_token stop) {
    const Descriptor file(path_);
    const std::size_t piece = piece_of(file.number);
    Unpacker unpacker(chunk_bytes_);
    const auto give = [&](std::vector<std::byte>&& bytes) { emit(ByteBlock{std::move(bytes)}); };
    while (!stop.stop_requested()) {
      if (!readable(file.number)) continue;
      std::vector<std::byte> bytes(piece);
      const ssize_t got = ::read(file.number, bytes.data(), piece);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got < 0) throw std::runtime_error(fmt::format("cannot read {}: {}", path_.string(), std::strerror(errno)));
      bytes.resize(static_cast<std::size_t>(got));
      if (got == 0) return unpacker.finish(give);
      unpacker.push(std::move(bytes), give);
    }
  }

 private:
  struct Descriptor {
    explicit Descriptor(const std::filesystem::path& path)
        : number(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
      if (number < 0) throw std::runtime_error(fmt::format("cannot open {}: {}", path.string(), std::strerror(errno)));
    }
    ~Descriptor() {
      if (number != STDIN_FILENO) ::close(number);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int number;
  };

  // A pipe gives no more at once than it holds, so a larger piece would be cleared in vain.
  std::size_t piece_of(int descriptor) const {
    constexpr std::size_t of_pipe = std::size_t{1} << 16;
    struct stat status {};
    return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) ? chunk_bytes_
                                                                        : std::min(chunk_bytes_, of_pipe);
  }

  // Waits a moment for data, so that a stop is noticed on a pipe that says nothing. True at end of
  // file too.
  static bool readable(int descriptor) {
    pollfd wait{descriptor, POLLIN, 0};
    constexpr int milliseconds = 100;
    return ::poll(&wait, 1, milliseconds) != 0;
  }

  std::filesystem::path path_;
  std::size_t chunk_bytes_;
};

TOFSTREAM_GADGET(FileSource, "file_source", "Reads a file or a pipe, piece by piece, and unpacks gzip");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
