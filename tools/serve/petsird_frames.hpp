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
  /// Throws std::runtime_error where the file cannot be opened.
  explicit PetsirdFrames(const std::filesystem::path& file, std::size_t frame_bytes = std::size_t{1} << 20);
  ~PetsirdFrames();

  /// The next frame: the stream's header first, then whole time blocks as they are, at least frame_bytes each;
  /// the end last, and then none. Throws what reading a PETSIRD file throws.
  std::optional<std::vector<std::byte>> next();
  /// Scan time of the blocks that next() gave last, and of all before them.
  std::uint64_t scanned_ns() const;

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

}  // namespace tofstream::serve
