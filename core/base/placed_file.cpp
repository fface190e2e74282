#include "core/base/placed_file.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <future>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
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
  constexpr std::size_t least_a_thread = std::size_t{2} << 20, most_threads = 8;
  const std::size_t threads = std::min<std::size_t>(most_threads, std::max(1U, std::thread::hardware_concurrency()));
  const std::size_t pieces = std::clamp<std::size_t>(to.size() / least_a_thread, 1, threads);
  const auto begin = [&](std::size_t piece) {
    return to.size() / pieces * piece + to.size() % pieces * piece / pieces;
  };
  const auto read_one = [&](std::size_t piece) {
    return read_piece(at + begin(piece), to.subspan(begin(piece), begin(piece + 1) - begin(piece)));
  };
  std::vector<std::future<std::size_t>> others;
  for (std::size_t piece = 1; piece < pieces; ++piece) others.push_back(std::async(read_one, piece));
  std::size_t done = read_one(0);
  for (std::size_t piece = 1; piece < pieces; ++piece) {
    const std::size_t got = others[piece - 1].get();
    if (done == begin(piece)) done += got;  // else the file has ended before
  }
  return done;
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
