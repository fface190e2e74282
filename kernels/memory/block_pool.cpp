// Blocks by size: see block_pool.hpp.
#include "kernels/memory/block_pool.hpp"

namespace tofstream {

void* BlockPool::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  constexpr std::size_t granule = 4096;  // a page
  bytes = (bytes + granule - 1) / granule * granule;
  if (void* block = take_kept(bytes)) return block;
  void* block = take_(bytes);
  if (!block && !kept_.empty()) {
    give_back_kept();
    block = take_(bytes);
  }
  if (block) use(block, bytes);
  return block;
}

void BlockPool::use(void* block, std::size_t bytes) {
  in_use_.emplace(block, bytes);
  used_bytes_ += bytes;
}

void* BlockPool::take_kept(std::size_t bytes) {
  const auto found = kept_.lower_bound(bytes);
  if (found == kept_.end() || found->first > 2 * bytes) return nullptr;
  void* block = found->second;
  use(block, found->first);
  kept_bytes_ -= found->first;
  kept_.erase(found);
  return block;
}

void BlockPool::release(void* block) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = in_use_.find(block);
  if (found == in_use_.end()) return;
  kept_.emplace(found->second, block);
  kept_bytes_ += found->second;
  used_bytes_ -= found->second;
  in_use_.erase(found);
}

void BlockPool::trim() {
  const std::lock_guard lock(mutex_);
  give_back_kept();
}

void BlockPool::give_back_kept() {
  for (const auto& [size, block] : kept_) give_back_(block, size);
  kept_.clear();
  kept_bytes_ = 0;
}

std::size_t BlockPool::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return kept_bytes_;
}

std::size_t BlockPool::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
