// The bytes of a stream as they arrive, in chunks of any size: what is read in part is kept until
// the rest comes, so that a reader can stop at any byte and go on later.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tofstream::petsird {

class Input {
 public:
  /// The next bytes; they must stay where they are until all are taken. What came before must be
  /// used up.
  void feed(std::span<const std::byte> chunk) { rest_ = chunk; }

  /// Bytes taken since the start of the stream.
  std::uint64_t offset() const { return offset_; }
  bool empty() const { return rest_.empty(); }
  std::span<const std::byte> rest() const { return rest_; }
  /// True inside a varint, whose first bytes have been taken.
  bool inside_varint() const { return shift_ != 0; }

  /// Takes `count` bytes of those that are there.
  void advance(std::size_t count) {
    rest_ = rest_.subspan(count);
    offset_ += count;
  }

  /// Takes as many bytes as are there, at most `most`.
  std::span<const std::byte> take(std::uint64_t most) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(most, rest_.size()));
    const std::span<const std::byte> taken = rest_.first(count);
    advance(count);
    return taken;
  }

  /// Copies bytes to `destination + done` until `done` is `size`; false: more are needed.
  bool copy(void* destination, std::size_t size, std::size_t& done) {
    const std::span<const std::byte> bytes = take(size - done);
    if (!bytes.empty()) {
      std::memcpy(static_cast<std::byte*>(destination) + done, bytes.data(), bytes.size());
    }
    done += bytes.size();
    return done == size;
  }

  /// A varint (7 bits a byte, least significant first) of a type of `bits` bits; false: more bytes
  /// are needed. Throws DataError if the value needs more bits, or takes more than the ten bytes of
  /// 64 bits.
  bool varint(std::uint64_t& value, unsigned bits) {
    while (!rest_.empty()) {
      const auto byte = std::to_integer<std::uint64_t>(rest_.front());
      const std::uint64_t group = byte & 0x7f;
      const unsigned room = bits > shift_ ? bits - shift_ : 0;
      advance(1);
      if ((room < 7 && (group >> room) != 0) || (byte >= 0x80 && shift_ == 63)) overlong(bits);
      partial_ |= group << shift_;
      if (byte < 0x80) {
        value = partial_;
        partial_ = 0;
        shift_ = 0;
        return true;
      }
      shift_ += 7;
    }
    return false;
  }

  /// Takes up to `count` varints whatever they hold; returns how many ended.
  std::uint64_t skip_varints(std::uint64_t count);

 private:
  [[noreturn]] void overlong(unsigned bits) const;

  std::span<const std::byte> rest_;
  std::uint64_t offset_ = 0;
  std::uint64_t partial_ = 0;
  unsigned shift_ = 0;
};

/// Undoes zigzag: 0, 1, 2, 3 -> 0, -1, 1, -2.
constexpr std::int64_t from_zigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

constexpr std::uint64_t to_zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
