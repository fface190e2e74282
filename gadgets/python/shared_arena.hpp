// Memory shared with the Python processes: one nameless file (memfd) that every one of them maps, cut into blocks that
// are used again. Nothing of it can outlive the processes, however they end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace tofstream {

/// A reusable piece of the arena; goes back to it with its last owner.
struct SharedBlock {
  std::byte* data = nullptr;
  std::size_t offset = 0;  // of `data` in the arena
  std::size_t bytes = 0;   // at least what was asked for
};

/// Thread-safe. Blocks are powers of two, those last given back are given out first, and their pages stay: a stream of
/// batches meets no page fault after the first few.
class SharedArena : public std::enable_shared_from_this<SharedArena> {
 public:
  /// The arena of this program, made at the first call and again after its last user has gone. Throws
  /// std::runtime_error where the system refuses it.
  static std::shared_ptr<SharedArena> instance();
  ~SharedArena();
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;

  int descriptor() const { return descriptor_; }
  /// Bytes of addresses; memory is used only where something was written.
  std::size_t size() const { return size_; }
  std::byte* data() const { return base_; }

  /// A block of at least `bytes`, aligned to a page. Throws std::runtime_error when the arena is full.
  std::shared_ptr<const SharedBlock> allocate(std::size_t bytes);
  /// True where [pointer, pointer + bytes) lies in the arena.
  bool contains(const void* pointer, std::size_t bytes) const;
  std::size_t offset_of(const void* pointer) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(pointer) - base_);
  }

 private:
  SharedArena();
  void give_back(std::size_t offset, std::size_t bytes);

  int descriptor_ = -1;
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  std::mutex mutex_;
  std::size_t next_ = 0;                                  // everything beyond was never given out
  std::map<std::size_t, std::vector<std::size_t>> free_;  // offsets by size
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
