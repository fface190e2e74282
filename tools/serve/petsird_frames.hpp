// A PETSIRD recording as the frames of a live stream (share/doc/wire.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

namespace tofstream::serve {

class PetsirdFrames {
 public:
  /// Throws std::runtime_error if the file cannot be opened.
  explicit PetsirdFrames(const std::filesystem::path& file, std::size_t frame_bytes = std::size_t{1} << 20);
  ~PetsirdFrames();

  /// The next frame: the stream's header first, then whole time blocks as they are, in frames of at least frame_bytes,
  /// last the end, and after it none. Throws as reading a PETSIRD file does.
  std::optional<std::vector<std::byte>> next();
  /// Scan time of all blocks so far, those that next() gave last included.
  std::uint64_t scanned_ns() const;

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
