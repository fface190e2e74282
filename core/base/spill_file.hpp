// Keeps on disk for a while bytes that memory has no room for, in a file without a name, which is gone when the program
// ends, however it ends. Whatever tofstream puts on disk while it waits goes this way: messages of edges, frames of a
// live stream, and events that are kept for later iterations.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>

#include "core/base/placed_file.hpp"

namespace tofstream {

class SpillFile;

// Bytes in a spill file; their space on disk is freed when the piece is destroyed.
class SpillPiece {
 public:
  SpillPiece() = default;
  SpillPiece(std::shared_ptr<SpillFile> file, FilePlace place) : file_(std::move(file)), place_(std::move(place)) {}
  SpillPiece(SpillPiece&&) noexcept = default;
  SpillPiece& operator=(SpillPiece&& other) noexcept;
  ~SpillPiece();

  const FilePlace& place() const { return place_; }
  std::size_t bytes() const { return place_.size; }
  explicit operator bool() const { return file_ != nullptr; }

  // Maps the bytes into memory, where the system reads them on access; the piece lives as long as the mapping. Throws
  // std::system_error.
  static std::shared_ptr<std::byte> map(SpillPiece piece);

 private:
  std::shared_ptr<SpillFile> file_;
  FilePlace place_;
};

// Safe from any thread.
class SpillFile : public std::enable_shared_from_this<SpillFile> {
 public:
  // An empty name means the system's folder for temporary files (TMPDIR). Throws std::system_error "cannot make a file
  // in FOLDER: CAUSE"; the caller says what to do.
  static std::shared_ptr<SpillFile> in(const std::filesystem::path& folder);

  // Writes the parts one behind the other. Throws std::system_error "cannot write an unnamed file in FOLDER: CAUSE",
  // and nothing is kept then.
  SpillPiece put(std::span<const std::span<const std::byte>> parts);

 private:
  friend SpillPiece;

  explicit SpillFile(const std::filesystem::path& folder);
  void give_back(const FilePlace& place) noexcept;

  const std::shared_ptr<const PlacedFile> file_;
  std::mutex mutex_;
  std::uint64_t end_ = 0;
  std::size_t pieces_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
