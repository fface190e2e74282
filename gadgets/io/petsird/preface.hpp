// The bytes before the header: "yardl", the format's version, and the length and text of the
// schema.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "gadgets/io/petsird/input.hpp"

namespace tofstream::petsird {

inline constexpr std::array<unsigned char, 9> stream_magic{'y', 'a', 'r', 'd', 'l', 1, 0, 0, 0};

class Preface {
 public:
  /// Reads on; true once the schema is there. Throws Error if this is not a PETSIRD binary stream.
  bool read(Input& input);
  const std::string& schema_text() const { return schema_; }
  /// Throws Error if what was read so far cannot begin a PETSIRD stream. `next`: bytes that follow it, as far as they
  /// are there, by which other formats are told apart.
  void check(std::span<const std::byte> next = {}) const;
  /// What is being read.
  std::string place() const;

 private:
  std::array<unsigned char, stream_magic.size()> magic_{};
  std::size_t magic_size_ = 0;
  std::uint64_t schema_size_ = 0;
  std::string schema_;
};

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
