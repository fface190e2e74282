// How a payload is put on disk when an edge spills (`edge: {policy: spill}`): the owner of its type says how its bytes
// are written and read, and core does the rest.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "core/base/placed_file.hpp"

namespace tofstream {

// Notes a payload's bytes, in order. Large arrays are not copied: they are written from where they lie.
class SpillWriter {
 public:
  // An object without pointers.
  template <class T>
  void value(const T& x) {
    static_assert(std::is_trivially_copyable_v<T>);
    copy(std::as_bytes(std::span(&x, 1)));
  }
  // The number of elements and the elements, which belong to the payload or to what the writer owns.
  template <class T>
  void array(std::span<const T> elements) {
    static_assert(std::is_trivially_copyable_v<T>);
    value(elements.size());
    refer(std::as_bytes(elements));
  }
  // Keeps an object until everything is written.
  void own(std::shared_ptr<const void> object) { owned_.push_back(std::move(object)); }
  // What many payloads share, such as a table of detectors, stays in memory.
  void shared(std::shared_ptr<const void> object);

  // What was noted, as parts that are valid as long as the writer and the payloads live.
  std::vector<std::span<const std::byte>> parts() const;
  std::vector<std::shared_ptr<const void>> take_shared() { return std::move(shared_); }

 private:
  struct Part {
    const std::byte* data;  // null: in copied_, from where the parts before it end
    std::size_t bytes;
  };

  void copy(std::span<const std::byte> bytes);
  void refer(std::span<const std::byte> bytes);

  std::vector<Part> parts_;
  std::vector<std::byte> copied_;
  std::vector<std::shared_ptr<const void>> owned_;
  std::vector<std::shared_ptr<const void>> shared_;
};

// Gives the same again, in the same order. Every call throws std::system_error if the disk cannot be read.
class SpillReader {
 public:
  SpillReader(FilePlace place, std::span<const std::shared_ptr<const void>> shared)
      : place_(std::move(place)), shared_(shared) {}

  template <class T>
  T value() {
    static_assert(std::is_trivially_copyable_v<T>);
    T x;
    read(std::as_writable_bytes(std::span(&x, 1)));
    return x;
  }
  // The number of elements that array() wrote; elements() reads that many into memory of the caller's.
  std::size_t size() { return value<std::size_t>(); }
  template <class T>
  void elements(std::span<T> to) {
    static_assert(std::is_trivially_copyable_v<T>);
    read(std::as_writable_bytes(to));
  }
  template <class T>
  std::vector<T> array() {
    std::vector<T> all(size());
    elements(std::span<T>(all));
    return all;
  }
  template <class T>
  std::shared_ptr<const T> shared() {
    const auto index = value<std::size_t>();
    return index == 0 ? nullptr : std::static_pointer_cast<const T>(shared_[index - 1]);
  }

 private:
  void read(std::span<std::byte> to);

  FilePlace place_;
  std::span<const std::shared_ptr<const void>> shared_;
  std::size_t at_ = 0;             // of the place, where the next byte that is not buffered lies
  std::vector<std::byte> buffer_;  // of small values
  std::size_t buffer_at_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
