// Messages between ranks of one reconstruction, as bytes: values and arrays one after the other. Both ends are the same
// version of the program on machines of one byte order, which they compare first; what is read is checked all the same.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tofstream::wire {

static_assert(std::endian::native == std::endian::little, "messages are copied as memory holds them");

/// Arrays begin at multiples of this from the beginning of a message, so that they are read where they lie.
inline constexpr std::size_t packed_alignment = 16;

/// Some bytes of a message, and what keeps them.
struct PackedPiece {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};

class PackWriter {
 public:
  /// An object without pointers.
  template <class T>
  void value(const T& x) {
    static_assert(std::is_trivially_copyable_v<T>);
    copy(std::as_bytes(std::span(&x, 1)));
  }
  void text(const std::string& text) { array(std::span(text), nullptr); }
  /// The number of elements and the elements. With an owner long ones are not copied, but sent from where they lie.
  template <class T>
  void array(std::span<const T> elements, std::shared_ptr<const void> owner) {
    static_assert(std::is_trivially_copyable_v<T>);
    constexpr std::size_t long_bytes = 1 << 14;
    value(std::uint64_t{elements.size()});
    copied_.resize(copied_.size() + (packed_alignment - bytes_ % packed_alignment) % packed_alignment);
    bytes_ += (packed_alignment - bytes_ % packed_alignment) % packed_alignment;
    const auto bytes = std::as_bytes(elements);
    if (!owner || bytes.size() < long_bytes) return copy(bytes);
    end_copied();
    pieces_.push_back({std::move(owner), bytes});
    bytes_ += bytes.size();
  }

  /// The message; the writer is then empty.
  std::vector<PackedPiece> take() {
    end_copied();
    bytes_ = 0;
    return std::exchange(pieces_, {});
  }

 private:
  void copy(std::span<const std::byte> bytes) {
    copied_.insert(copied_.end(), bytes.begin(), bytes.end());
    bytes_ += bytes.size();
  }
  void end_copied() {
    if (copied_.empty()) return;
    const auto owner = std::make_shared<const std::vector<std::byte>>(std::exchange(copied_, {}));
    pieces_.push_back({owner, *owner});
  }

  std::vector<PackedPiece> pieces_;
  std::vector<std::byte> copied_;
  std::size_t bytes_ = 0;
};

/// Gives the same again, in the same order. Each call throws std::runtime_error where the message has less.
class PackReader {
 public:
  /// `message` begins at a multiple of packed_alignment, and outlives what array() gives.
  explicit PackReader(std::span<const std::byte> message) : all_(message) {}

  template <class T>
  T value() {
    static_assert(std::is_trivially_copyable_v<T>);
    T x;
    std::memcpy(&x, take(sizeof(T)).data(), sizeof(T));
    return x;
  }
  /// A number from `least` to `most`, or throws.
  template <class T>
  T value(T least, T most, const char* what) {
    const T x = value<T>();
    if (!(x >= least && x <= most)) refuse(what);
    return x;
  }
  std::string text() {
    const auto letters = array<char>();
    return {letters.begin(), letters.end()};
  }
  template <class T>
  std::span<const T> array() {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= packed_alignment);
    const auto count = value<std::uint64_t>();
    take((packed_alignment - at_ % packed_alignment) % packed_alignment);
    if (count > (all_.size() - at_) / sizeof(T)) refuse("it is cut short");
    const auto bytes = take(sizeof(T) * static_cast<std::size_t>(count));
    return {reinterpret_cast<const T*>(bytes.data()), static_cast<std::size_t>(count)};
  }
  void require_end() const {
    if (at_ != all_.size()) refuse("it is longer than what it says");
  }
  [[noreturn]] static void refuse(const std::string& what) {
    throw std::runtime_error("a message between ranks makes no sense: " + what);
  }

 private:
  std::span<const std::byte> take(std::size_t bytes) {
    if (bytes > all_.size() - at_) refuse("it is cut short");
    return all_.subspan(std::exchange(at_, at_ + bytes), bytes);
  }

  std::span<const std::byte> all_;
  std::size_t at_ = 0;
};

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
