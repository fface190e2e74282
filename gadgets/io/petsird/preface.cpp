// Reads the preface and recognises what people give by mistake: text, HDF5, JSON lines, another
// version.
#include "gadgets/io/petsird/preface.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "gadgets/io/petsird/error.hpp"

namespace tofstream::petsird {
namespace {

constexpr std::size_t magic_word = 5;  // "yardl"; then four bytes of version
constexpr std::uint64_t longest_schema = 16 << 20;

}  // namespace

bool Preface::read(Input& input) {
  while (magic_size_ < magic_.size()) {
    const std::span<const std::byte> byte = input.take(1);
    if (byte.empty()) return false;
    magic_[magic_size_++] = std::to_integer<unsigned char>(byte.front());
    if (magic_size_ == magic_.size()) check();
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

void Preface::check() const {
  const auto read = magic_.begin() + static_cast<std::ptrdiff_t>(magic_size_);
  if (std::equal(magic_.begin(), read, stream_magic.begin())) return;
  if (magic_size_ == magic_.size() && std::equal(magic_.begin(), magic_.begin() + magic_word, stream_magic.begin())) {
    const unsigned version = magic_[5] | magic_[6] << 8U | magic_[7] << 16U | unsigned{magic_[8]} << 24U;
    throw Error(
        fmt::format("PETSIRD stream, byte 5: yardl format version {}, but only version 1 is known; "
                    "write the file with yardl 0.6",
                    version));
  }
  const std::string start(magic_.begin(), read);
  if (start.find("HDF") == 1) {
    throw Error("PETSIRD stream, byte 0: this is an HDF5 file; convert it to PETSIRD's binary encoding");
  }
  if (start.front() == '{') {
    throw Error("PETSIRD stream, byte 0: this is JSON; convert it to PETSIRD's binary encoding");
  }
  const bool text =
      std::all_of(magic_.begin(), read, [](unsigned char c) { return std::isprint(c) != 0 || std::isspace(c) != 0; });
  throw Error(
      fmt::format("PETSIRD stream, byte 0: {}, not a PETSIRD binary stream, which begins with "
                  "'yardl'; give another file",
                  text ? "this is text" : "unknown data"));
}

std::string Preface::place() const {
  return magic_size_ < magic_.size() ? "its first 9 bytes" : "its schema";
}

}  // namespace tofstream::petsird
