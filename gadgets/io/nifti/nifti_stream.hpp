// The bytes of a file, plain or compressed by gzip. Internal to the readers of NIfTI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

struct inflate_state;

namespace tofstream::detail {

class NiftiStream {
 public:
  /// `name`: what messages call the file. Throws std::runtime_error when it cannot be opened.
  NiftiStream(const std::filesystem::path& path, bool gzip, const std::filesystem::path& name);
  ~NiftiStream();

  /// Reads the next bytes, through gzip members in order. False if fewer are left or the gzip stream is broken.
  bool read(void* data, std::size_t bytes);
  /// Skips bytes.
  bool skip(std::int64_t bytes);

 private:
  bool refill();
  bool read_compressed(std::uint8_t* to, std::size_t bytes);

  std::ifstream file_;
  std::unique_ptr<inflate_state> state_;  // null: not compressed
  std::vector<std::uint8_t> compressed_;
};

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
