#include "core/base/placed_file.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <unistd.h>

namespace tofstream {

PlacedFile::PlacedFile(int descriptor, std::filesystem::path path, const char* action)
    : descriptor_(descriptor), path_(std::move(path)) {
  if (descriptor_ < 0) fail(action);
}

PlacedFile::~PlacedFile() {
  ::close(descriptor_);
}

std::uint64_t PlacedFile::size() const {
  struct stat about {};
  if (::fstat(descriptor_, &about) != 0) fail("read");
  return static_cast<std::uint64_t>(about.st_size);
}

std::size_t PlacedFile::read(std::uint64_t at, std::span<std::byte> to) const {
  constexpr std::size_t piece = std::size_t{1} << 20;
  if (to.size() <= piece) return read_piece(at, to);
  std::atomic<std::size_t> end = to.size();  // where the file turns out to end
  // Isolated: a gadget's own thread takes no other gadget's work meanwhile.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(std::size_t{0}, (to.size() + piece - 1) / piece, [&](std::size_t k) {
      const std::span<std::byte> part = to.subspan(k * piece, std::min(piece, to.size() - k * piece));
      const std::size_t got = read_piece(at + k * piece, part);
      for (std::size_t known = end; got < part.size() && k * piece + got < known;)
        if (end.compare_exchange_weak(known, k * piece + got)) break;
    });
  });
  return end;
}

std::size_t PlacedFile::read_piece(std::uint64_t at, std::span<std::byte> to) const {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t got = ::pread(descriptor_, to.data() + done, to.size() - done, static_cast<off_t>(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read");
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void PlacedFile::write(std::uint64_t at, std::span<const std::span<const std::byte>> pieces) const {
  std::vector<iovec> left;
  for (const auto piece : pieces)
    if (!piece.empty()) left.push_back({const_cast<std::byte*>(piece.data()), piece.size()});  // pwritev only reads
  for (auto next = left.begin(); next != left.end();) {
    const auto count = static_cast<int>(std::min<std::ptrdiff_t>(left.end() - next, IOV_MAX));
    const ssize_t written = ::pwritev(descriptor_, &*next, count, static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write");
    at += static_cast<std::uint64_t>(written);
    auto rest = static_cast<std::size_t>(written);
    for (; next != left.end() && rest >= next->iov_len; ++next) rest -= next->iov_len;
    if (next == left.end()) break;
    next->iov_base = static_cast<std::byte*>(next->iov_base) + rest;
    next->iov_len -= rest;
  }
}

void PlacedFile::truncate(std::uint64_t size) const {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) fail("cut");
}

int PlacedFile::sync() const noexcept {
  if (::fdatasync(descriptor_) == 0 || errno == EINVAL) return 0;  // EINVAL: a file system that does not know it
  return errno;
}

void PlacedFile::give_back(std::uint64_t at, std::uint64_t bytes) const noexcept {
  (void)::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
                    static_cast<off_t>(bytes));
}

void PlacedFile::fail(const char* action) const {
  throw std::system_error(errno, std::generic_category(), fmt::format("cannot {} {}", action, path_.string()));
}

void FilePlace::read(std::size_t at, std::span<std::byte> to) const {
  if (at + to.size() > size || file->read(offset + at, to) != to.size())
    throw std::runtime_error(fmt::format("{} has been cut short by another program", file->path().string()));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
