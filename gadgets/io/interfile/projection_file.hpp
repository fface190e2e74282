// The numbers of projection data, any stretch of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "gadgets/io/interfile/projection_header.hpp"

namespace tofstream::interfile {

class ProjectionFile {
 public:
  /// Opens the data of a header. Throws std::runtime_error of one line, with file and sizes, where the file's size is
  /// not what the header says.
  explicit ProjectionFile(ProjectionHeader header);

  const ProjectionHeader& header() const { return header_; }
  /// Numbers [first, first + to.size()) of the ToF position at this place in the file, times the header's scale.
  /// Thread-safe. Throws std::runtime_error where the file has become shorter.
  void read(int tof_place, std::int64_t first, std::span<float> to) const;
  /// A checksum of all numbers as they are stored.
  std::uint32_t checksum() const;

 private:
  void read_bytes(std::int64_t at, std::span<std::byte> to) const;

  const ProjectionHeader header_;
  mutable std::mutex mutex_;
  mutable std::ifstream file_;
};

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
