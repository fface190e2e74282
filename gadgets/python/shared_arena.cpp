// Shared memory in blocks: see shared_arena.hpp.
#include "gadgets/python/shared_arena.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tofstream {

namespace {

constexpr std::size_t smallest_block = 4096;
constexpr std::size_t smallest_arena = std::size_t{256} << 20;

// Twice the machine's memory, as a power of two: only addresses, since pages come with the first write.
std::size_t wanted_size() {
  const auto pages = static_cast<std::size_t>(std::max(::sysconf(_SC_PHYS_PAGES), 1L));
  const auto page = static_cast<std::size_t>(std::max(::sysconf(_SC_PAGESIZE), 4096L));
  return std::max(smallest_arena, std::bit_ceil(2 * pages * page));
}

}  // namespace

std::shared_ptr<SharedArena> SharedArena::instance() {
  static std::mutex mutex;
  static std::weak_ptr<SharedArena> current;
  const std::lock_guard lock(mutex);
  std::shared_ptr<SharedArena> arena = current.lock();
  if (!arena) {
    arena = std::shared_ptr<SharedArena>(new SharedArena);
    current = arena;
  }
  return arena;
}

SharedArena::SharedArena() {
  descriptor_ = ::memfd_create("tofstream", MFD_CLOEXEC);
  if (descriptor_ < 0)
    throw std::runtime_error(fmt::format("cannot make shared memory for Python: {}", std::strerror(errno)));
  // Where the user's limits allow fewer addresses, a smaller arena does.
  for (size_ = wanted_size(); size_ >= smallest_arena; size_ /= 2) {
    if (::ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) continue;
    void* mapped = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor_, 0);
    if (mapped == MAP_FAILED) continue;
    base_ = static_cast<std::byte*>(mapped);
    ::madvise(base_, size_, MADV_DONTDUMP);
    return;
  }
  const int error = errno;
  ::close(descriptor_);
  throw std::runtime_error(
      fmt::format("cannot map {} MiB of shared memory for Python: {}", smallest_arena >> 20, std::strerror(error)));
}

SharedArena::~SharedArena() {
  ::munmap(base_, size_);
  ::close(descriptor_);
}

std::shared_ptr<const SharedBlock> SharedArena::allocate(std::size_t bytes) {
  const auto full = [&] {
    return std::runtime_error(
        fmt::format("{} MiB of shared memory for Python do not fit in {} MiB: give fewer or "
                    "smaller messages at a time",
                    bytes >> 20, size_ >> 20));
  };
  if (bytes > size_) throw full();
  const std::size_t size = std::bit_ceil(std::max(bytes, smallest_block));
  SharedBlock block{nullptr, 0, size};
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    auto& unused = free_[size];
    is_new = unused.empty();
    if (is_new && size > size_ - next_) throw full();
    block.offset = is_new ? std::exchange(next_, next_ + size) : unused.back();
    if (!is_new) unused.pop_back();
  }
  block.data = base_ + block.offset;
  // All pages at once cost less than one fault each; a kernel before 5.14 faults them one by one (EINVAL).
  if (is_new && bytes > 0 && ::madvise(block.data, bytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
    const int error = errno;
    give_back(block.offset, block.bytes);
    throw std::runtime_error(
        fmt::format("no memory for {} MiB shared with Python: {}", bytes >> 20, std::strerror(error)));
  }
  return {new SharedBlock(block), [arena = shared_from_this()](const SharedBlock* done) {
            arena->give_back(done->offset, done->bytes);
            delete done;
          }};
}

void SharedArena::give_back(std::size_t offset, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  free_[bytes].push_back(offset);
}

bool SharedArena::contains(const void* pointer, std::size_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(base_), at = reinterpret_cast<std::uintptr_t>(pointer);
  return at >= begin && at - begin <= size_ && bytes <= size_ - (at - begin);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
