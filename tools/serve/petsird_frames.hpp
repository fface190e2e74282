// A PETSIRD recording as the frames of a live stream (share/doc/wire.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "gadgets/wire/stream_file.hpp"

namespace tofstream::serve {

class PetsirdFrames final : public StreamFile {
 public:
  /// Throws std::runtime_error if the file cannot be opened.
  explicit PetsirdFrames(const std::filesystem::path& file, std::size_t frame_bytes = std::size_t{1} << 20);
  ~PetsirdFrames() override;

  /// Data are whole time blocks as they are, in frames of at least frame_bytes. Throws as reading a PETSIRD file does.
  std::optional<std::vector<std::byte>> next() override;
  std::uint64_t scanned_ns() const override;

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
