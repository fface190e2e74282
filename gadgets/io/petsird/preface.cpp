// Reads the preface; what people give by mistake is named, be it another format or another version.
#include "gadgets/io/petsird/preface.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "gadgets/io/first_bytes.hpp"
#include "gadgets/io/petsird/error.hpp"

namespace tofstream::petsird {
namespace {

constexpr std::size_t magic_word = 5;  // "yardl"; then four bytes of version
constexpr std::uint64_t longest_schema = 16 << 20;
constexpr std::size_t told_by = 4096;  // so many bytes at most say what a file is instead

std::string what_is_wrong(const FileKind& kind) {
  constexpr auto* reads = "tofstream reads PETSIRD in its binary form, which begins with 'yardl'";
  if (!kind.is_packed.empty()) return fmt::format("this is {}; unpack it ({}): {}", kind.name, kind.is_packed, reads);
  const char* remedy = kind.name == "text" || kind.name == "unknown data" ? "give another file"
                       : kind.name == castor_name ? "run castor_osem, which reads it (tofstream docs files)"
                       : kind.name == root_name
                           ? "run gate_osem, which reads GATE's, or tofstream convert (tofstream docs files)"
                           : "convert it (tofstream docs files, 'Other formats')";
  return fmt::format("{}{}; {}: {}", kind.name == "unknown data" ? "" : "this is ", kind.name, reads, remedy);
}

}  // namespace

bool Preface::read(Input& input) {
  while (magic_size_ < magic_.size()) {
    const std::span<const std::byte> byte = input.take(1);
    if (byte.empty()) return false;
    magic_[magic_size_++] = std::to_integer<unsigned char>(byte.front());
    if (magic_size_ == magic_.size()) check(input.rest());
  }
  if (schema_size_ == 0) {
    if (!input.varint(schema_size_, 64)) return false;
    if (schema_size_ == 0 || schema_size_ > longest_schema) {
      throw Error(
          fmt::format("PETSIRD stream, byte {}: a schema of {} bytes is not plausible; the stream is "
                      "damaged, get a fresh copy",
                      input.offset(), schema_size_));
    }
  }
  const std::span<const std::byte> bytes = input.take(schema_size_ - schema_.size());
  schema_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return schema_.size() == schema_size_;
}

void Preface::check(std::span<const std::byte> next) const {
  const auto read = magic_.begin() + static_cast<std::ptrdiff_t>(magic_size_);
  if (std::equal(magic_.begin(), read, stream_magic.begin())) return;
  if (magic_size_ == magic_.size() && std::equal(magic_.begin(), magic_.begin() + magic_word, stream_magic.begin())) {
    const unsigned version = magic_[5] | magic_[6] << 8U | magic_[7] << 16U | unsigned{magic_[8]} << 24U;
    throw Error(
        fmt::format("PETSIRD stream, byte 5: yardl format version {}, but only version 1 is known; "
                    "write the file with yardl 0.6",
                    version));
  }
  const std::span<const std::byte> known = std::as_bytes(std::span(magic_)).first(magic_size_);
  std::vector<std::byte> start(known.begin(), known.end());
  start.insert(start.end(), next.begin(), next.begin() + static_cast<std::ptrdiff_t>(std::min(next.size(), told_by)));
  throw Error("PETSIRD stream, byte 0: " + what_is_wrong(kind_of_file(start)));
}

std::string Preface::place() const {
  return magic_size_ < magic_.size() ? "its first 9 bytes" : "its schema";
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
