// The events of a CASToR data file, some at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "gadgets/io/castor/data_header.hpp"
#include "gadgets/io/castor/record.hpp"

namespace tofstream::castor {

class DataFile {
 public:
  /// Opens the events of a header. Throws std::runtime_error of one line, which names file and size, where the file's
  /// size is not what the header and its flags say.
  explicit DataFile(const DataHeader& header);

  const RecordLayout& layout() const { return layout_; }
  /// Reads `count` events from number `first` on into `bytes`, which is resized. Throws std::runtime_error where the
  /// file ends before them.
  void read(std::uint64_t first, std::uint64_t count, std::vector<std::byte>& bytes);
  RecordView event(std::span<const std::byte> bytes, std::uint64_t index) const {
    return {layout_, bytes.data() + index * layout_.bytes};
  }
  /// "scan.cdf: event 17 (byte 340)": where messages about an event point.
  std::string place_of(std::uint64_t event) const;

 private:
  std::string path_;
  RecordLayout layout_;
  std::ifstream file_;
};

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
