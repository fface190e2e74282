// A file of bytes that is read and written at given places, such as a segment of a journal, or a file that holds for a
// while what memory has no room for.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace tofstream {

class PlacedFile {
 public:
  // Takes over a descriptor and closes it in the end; `path` is for messages. Throws std::system_error "cannot ACTION
  // PATH: CAUSE" (errno) if the descriptor is negative.
  PlacedFile(int descriptor, std::filesystem::path path, const char* action);
  ~PlacedFile();
  PlacedFile(const PlacedFile&) = delete;
  PlacedFile& operator=(const PlacedFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  std::uint64_t size() const;

  // Reads until `to` is full or the file ends; returns the bytes that were read. What is large is read by up to eight
  // threads: one copies 3 GB/s from the system's memory. Throws std::system_error.
  std::size_t read(std::uint64_t at, std::span<std::byte> to) const;
  // Writes the pieces one behind the other. Throws std::system_error; the file may then hold a part of them.
  void write(std::uint64_t at, std::span<const std::span<const std::byte>> pieces) const;
  // Throws std::system_error.
  void truncate(std::uint64_t size) const;
  // Flushes to the disk, as far as the file system can. Returns 0, or the cause (errno).
  int sync() const noexcept;
  // Gives the space of these bytes back to the disk if the file system can; they then read as 0.
  void give_back(std::uint64_t at, std::uint64_t bytes) const noexcept;

 private:
  std::size_t read_piece(std::uint64_t at, std::span<std::byte> to) const;
  [[noreturn]] void fail(const char* action) const;

  const int descriptor_;
  const std::filesystem::path path_;
};

// A stretch of bytes in a file, which stays open as long as somebody may read them.
struct FilePlace {
  std::shared_ptr<const PlacedFile> file;
  std::uint64_t offset = 0;
  std::size_t size = 0;

  // Fills `to` from byte `at` of the place. Throws std::runtime_error if the file has become shorter,
  // std::system_error if it cannot be read.
  void read(std::size_t at, std::span<std::byte> to) const;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
