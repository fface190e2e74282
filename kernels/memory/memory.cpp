// Allocation, release and copies in host, pinned and device memory: see memory.hpp.
#include "kernels/memory/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <new>
#include <string_view>

#include <fmt/format.h>
#include <sys/mman.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#ifdef TOFSTREAM_HAVE_CUDA
#include <cuda_runtime_api.h>

#include "kernels/cuda/check.hpp"
#include "kernels/memory/block_pool.hpp"
#include "kernels/memory/device_pool.hpp"
#include "kernels/memory/signals_elsewhere.hpp"
#endif

namespace tofstream {

namespace {

constexpr std::size_t alignment = 64;  // a cache line and the widest SIMD vector

double gib(std::size_t bytes) {
  return static_cast<double>(bytes) / 1073741824.0;
}

constexpr std::size_t unlimited = SIZE_MAX;

// The number behind a key of a file of lines "key number"; `unlimited` where there is none.
std::size_t number_in(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return std::strtoull(line.c_str() + key.size(), nullptr, 10);
  return unlimited;
}

// What the control group leaves: its limit less what it uses, of which files' pages can be had again.
std::size_t available_in_group() {
  const std::size_t limit = number_in("/sys/fs/cgroup/memory.max", "");
  const std::size_t used = number_in("/sys/fs/cgroup/memory.current", "");
  if (limit == unlimited || limit == 0 || used == unlimited) return unlimited;  // "max" is read as 0
  const std::size_t files = number_in("/sys/fs/cgroup/memory.stat", "inactive_file ");
  const std::size_t held = used - std::min(files == unlimited ? 0 : files, used);
  return limit - std::min(held, limit);
}

std::size_t available_host_bytes() {
  const std::size_t kib = number_in("/proc/meminfo", "MemAvailable:");
  return std::min(kib == unlimited ? unlimited : kib * 1024, available_in_group());
}

// Linux grants memory that it does not have and kills the program when it is touched, so a large request is compared
// with what there is before it is made.
bool has_room(std::size_t bytes) {
  constexpr std::size_t large = std::size_t{256} << 20;
  return bytes < large || bytes <= available_host_bytes();
}

// Calls work(begin, end) for stretches of `bytes`, on several threads where they are many: most of the time of a new
// image goes into the system's giving its pages.
template <class Work>
void by_stretches(std::size_t bytes, const Work& work) {
  constexpr std::size_t stretch = std::size_t{512} << 10;
  if (bytes <= stretch) return work(std::size_t{0}, bytes);
  // Isolated: who copies may hold a lock that another task of this thread would want.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, bytes, stretch),
                      [&](const auto& range) { work(range.begin(), range.end()); });
  });
}

void copy_host(void* to, const void* from, std::size_t bytes) {
  by_stretches(bytes, [&](std::size_t begin, std::size_t end) {
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin, end - begin);
  });
}

void zero_host(void* pointer, std::size_t bytes) {
  by_stretches(bytes, [&](std::size_t begin, std::size_t end) {
    std::memset(static_cast<std::byte*>(pointer) + begin, 0, end - begin);
  });
}

constexpr std::size_t large_page = std::size_t{2} << 20;

// Images come in large pages where the system has them: it gives each page when it is first touched. 100 MB are there
// after 10 ms in place of 490 in a virtual machine, and go in 0.5 in place of 27.
void* take_host(std::size_t bytes) {
  const std::size_t page = bytes < 2 * large_page ? alignment : large_page;
  void* pointer = std::aligned_alloc(page, (bytes + page - 1) / page * page);
#ifdef MADV_HUGEPAGE
  if (pointer && page == large_page) (void)::madvise(pointer, bytes, MADV_HUGEPAGE);
#endif
  return pointer;
}

void* allocate_host(std::size_t bytes) {
  void* pointer = has_room(bytes) ? take_host(bytes) : nullptr;
  if (!pointer)
    throw OutOfMemory(
        fmt::format("cannot allocate {:.1f} GiB of host memory ({:.1f} GiB are free): use a smaller image or "
                    "fewer events a subset",
                    gib(bytes), gib(available_host_bytes())));
  return pointer;
}

}  // namespace

#ifdef TOFSTREAM_HAVE_CUDA

namespace {

double mib(std::size_t bytes) {
  return static_cast<double>(bytes) / 1048576.0;
}

// The pages that page-locked memory takes: large ones where it fills one.
struct Pages {
  explicit Pages(std::size_t wanted)
      : page(wanted < large_page ? 4096 : large_page), bytes((wanted + page - 1) / page * page) {}
  std::size_t page, bytes;
};

// Memory whose pages are there already, taken by all threads, before they are locked: cudaMallocHost takes them one by
// one, 0.5 ms a MB, in which no other call to the device gets through. A child process does not get them: the system
// copies locked pages when it forks, gigabytes of lists that a Python gadget's process never reads.
void* take_pinned(std::size_t wanted) {
  const auto [page, bytes] = Pages(wanted);
  void* const pointer = has_room(bytes) ? std::aligned_alloc(page, bytes) : nullptr;
  if (!pointer) return nullptr;
  (void)::madvise(pointer, bytes, MADV_HUGEPAGE);  // where the system has large pages
  zero_host(pointer, bytes);
  if (cudaHostRegister(pointer, bytes, cudaHostRegisterPortable) == cudaSuccess) {
    (void)::madvise(pointer, bytes, MADV_DONTFORK);
    return pointer;
  }
  (void)cudaGetLastError();
  std::free(pointer);
  return nullptr;
}

void give_back_pinned(void* pointer, std::size_t wanted) {
  (void)cudaHostUnregister(pointer);
  (void)::madvise(pointer, Pages(wanted).bytes, MADV_DOFORK);
  std::free(pointer);
}

// Page-locking takes the system long, and unlocking waits for the device.
BlockPool& pinned_pool() {
  static BlockPool pool(take_pinned, give_back_pinned);
  return pool;
}

void* allocate_pinned(std::size_t bytes) {
  void* pointer = pinned_pool().allocate(bytes);
  if (!pointer)
    throw OutOfMemory(fmt::format("cannot allocate {:.1f} MiB of pinned memory: the system refuses it", mib(bytes)));
  return pointer;
}

void* allocate_device(std::size_t bytes, Stream stream) {
  const cudaMemPool_t pool = detail::device_pool();
  void* pointer = nullptr;
  cudaError_t status = cudaMallocFromPoolAsync(&pointer, bytes, pool, stream);
  if (status == cudaErrorMemoryAllocation) {  // until all that has been given back is free, and in one piece
    (void)cudaGetLastError();
    check_cuda(cudaDeviceSynchronize(), "wait for memory");
    check_cuda(cudaMemPoolTrimTo(pool, 0), "give memory back");
    status = cudaMallocFromPoolAsync(&pointer, bytes, pool, stream);
  }
  if (status == cudaSuccess) return pointer;
  (void)cudaGetLastError();
  throw OutOfMemory(
      fmt::format("cannot allocate {:.1f} MiB of GPU memory: {}", mib(bytes), cudaGetErrorString(status)));
}

// The first call of CUDA: its driver makes threads.
std::string look_for_device() {
  const SignalsElsewhere of_threads;
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess && devices > 0) return {};
  (void)cudaGetLastError();  // a missing driver must not be reported again by a later check
  return status == cudaSuccess ? "no CUDA device" : fmt::format("no CUDA device ({})", cudaGetErrorString(status));
}

}  // namespace

// Asked once: later calls must not wait for another thread that is setting the device up.
std::string why_no_cuda() {
  static const std::string reason = look_for_device();
  return reason;
}

std::string cuda_device_name() {
  if (!why_no_cuda().empty()) return {};
  int device = 0;
  check_cuda(cudaGetDevice(&device), "find the current device");
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device), "read the device's name");
  return properties.name;
}

std::size_t free_device_bytes() {
  require_cuda();
  std::size_t free_bytes = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free_bytes, &total), "read the device's free memory");
  // Besides, what the pool holds for the program's next requests.
  std::uint64_t reserved = 0, used = 0;
  const cudaMemPool_t pool = detail::device_pool();
  check_cuda(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved), "read the memory pool");
  check_cuda(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), "read the memory pool");
  return free_bytes + (reserved - used);
}

std::size_t free_host_bytes() {
  const std::size_t available = available_host_bytes();
  return available == unlimited ? unlimited : available + pinned_pool().kept_bytes();
}

std::size_t used_pinned_bytes() {
  return pinned_pool().used_bytes();
}

Stream copy_stream() {
  if (!why_no_cuda().empty()) return nullptr;
  static std::mutex mutex;
  static std::map<int, cudaStream_t> streams;
  int device = 0;
  check_cuda(cudaGetDevice(&device), "find the current device");
  const std::lock_guard lock(mutex);
  cudaStream_t& stream = streams[device];
  if (!stream) check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create a stream for copies");
  return stream;
}

void synchronize(Stream stream) {
  if (why_no_cuda().empty()) check_cuda(cudaStreamSynchronize(stream), "wait for a stream");
}

namespace detail {

void* allocate(Memory memory, std::size_t bytes, Stream stream) {
  if (bytes == 0) return nullptr;
  if (memory == Memory::host) return allocate_host(bytes);
  require_cuda();
  return memory == Memory::pinned ? allocate_pinned(bytes) : allocate_device(bytes, stream);
}

void release(Memory memory, void* pointer, Stream stream) noexcept {
  if (!pointer) return;
  if (memory == Memory::host) std::free(pointer);
  if (memory == Memory::pinned) pinned_pool().release(pointer);
  if (memory != Memory::device || cudaFreeAsync(pointer, stream) == cudaSuccess) return;
  (void)cudaGetLastError();  // it lies on another device than the current one
  (void)cudaFree(pointer);
}

void copy(void* to, Memory to_memory, const void* from, Memory from_memory, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  if (on_host(to_memory) && on_host(from_memory)) {
    copy_host(to, from, bytes);
    return;
  }
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "copy between host and device");
}

void zero(void* pointer, Memory memory, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  if (on_host(memory)) {
    zero_host(pointer, bytes);
    return;
  }
  check_cuda(cudaMemsetAsync(pointer, 0, bytes, stream), "clear device memory");
}

}  // namespace detail

#else

std::string why_no_cuda() {
  return "this tofstream was built without CUDA";
}

std::string cuda_device_name() {
  return {};
}

std::size_t free_device_bytes() {
  require_cuda();
  return 0;
}

std::size_t free_host_bytes() {
  return available_host_bytes();
}

std::size_t used_pinned_bytes() {
  return 0;
}

Stream copy_stream() {
  return nullptr;
}

void synchronize(Stream) {}

namespace detail {

void* allocate(Memory memory, std::size_t bytes, Stream) {
  if (bytes == 0) return nullptr;
  if (memory != Memory::host) require_cuda();
  return allocate_host(bytes);
}

void release(Memory, void* pointer, Stream) noexcept {
  std::free(pointer);
}

void copy(void* to, Memory, const void* from, Memory, std::size_t bytes, Stream) {
  if (bytes > 0) copy_host(to, from, bytes);
}

void zero(void* pointer, Memory, std::size_t bytes, Stream) {
  if (bytes > 0) zero_host(pointer, bytes);
}

}  // namespace detail

#endif

void require_cuda() {
  if (const std::string reason = why_no_cuda(); !reason.empty())
    throw std::runtime_error(reason + ": use backend cpu or auto");
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
