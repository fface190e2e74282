// Keeps memory that is given back for the next request, where taking it from the system is slow, as it is for
// page-locked memory (and giving it back waits for the GPU). Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>

namespace tofstream {

class BlockPool {
 public:
  /// How memory is taken from the system (null: refused) and given back to it.
  using Take = void* (*)(std::size_t bytes);
  using GiveBack = void (*)(void* block, std::size_t bytes);
  BlockPool(Take take, GiveBack give_back) : take_(take), give_back_(give_back) {}
  ~BlockPool() { trim(); }
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// At least `bytes`, from a kept block of at most twice as many, or from the system; where that refuses, once more
  /// after all kept blocks have gone back. Null where it refuses again.
  void* allocate(std::size_t bytes);
  /// Keeps the block, which allocate() gave, for a request to come.
  void release(void* block) noexcept;
  /// Gives all kept blocks back to the system.
  void trim();
  /// Bytes of the kept blocks.
  std::size_t kept_bytes() const;
  /// Bytes of the blocks that have not been given back.
  std::size_t used_bytes() const;

 private:
  void* take_kept(std::size_t bytes);
  void use(void* block, std::size_t bytes);
  void give_back_kept();

  Take take_;
  GiveBack give_back_;
  mutable std::mutex mutex_;
  std::multimap<std::size_t, void*> kept_;         // by size
  std::unordered_map<void*, std::size_t> in_use_;  // sizes
  std::size_t kept_bytes_ = 0, used_bytes_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
