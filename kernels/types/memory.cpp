// Allocation, release and copies in host, pinned and device memory: see memory.hpp.
#include "kernels/types/memory.hpp"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <new>

#include <fmt/format.h>

#ifdef TOFSTREAM_HAVE_CUDA
#include <cuda_runtime_api.h>

#include "kernels/cuda/check.hpp"
#endif

namespace tofstream {

namespace {

constexpr std::size_t alignment = 64;  // a cache line and the widest SIMD vector

double gib(std::size_t bytes) {
  return static_cast<double>(bytes) / 1073741824.0;
}

// Bytes that can be had without swapping, as the kernel estimates; the largest number where it does not say.
std::size_t available_host_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("MemAvailable:")) return std::strtoull(line.c_str() + 13, nullptr, 10) * 1024;
  return SIZE_MAX;
}

// Linux grants memory that it does not have and kills the program when it is touched, so a large request is compared
// with what there is before it is made.
void* allocate_host(std::size_t bytes) {
  constexpr std::size_t large = std::size_t{256} << 20;
  const std::size_t available = bytes >= large ? available_host_bytes() : SIZE_MAX;
  void* pointer =
      bytes <= available ? std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment) : nullptr;
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

cudaMemPool_t default_pool() {
  int device = 0;
  cudaMemPool_t pool = nullptr;
  check_cuda(cudaGetDevice(&device), "find the current device");
  check_cuda(cudaDeviceGetDefaultMemPool(&pool, device), "find the device's memory pool");
  return pool;
}

// Memory that is given back stays with the program for its next request: else every synchronisation would return it to
// the driver, whose allocations take milliseconds.
void keep_device_memory() {
  std::uint64_t all = UINT64_MAX;
  check_cuda(cudaMemPoolSetAttribute(default_pool(), cudaMemPoolAttrReleaseThreshold, &all),
             "keep the device's memory");
}

std::string look_for_device() {
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
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, 0), "read the device's name");
  return properties.name;
}

std::size_t free_device_bytes() {
  require_cuda();
  std::size_t free_bytes = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free_bytes, &total), "read the device's free memory");
  // Besides, what the pool holds for the program's next requests.
  std::uint64_t reserved = 0, used = 0;
  const cudaMemPool_t pool = default_pool();
  check_cuda(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved), "read the memory pool");
  check_cuda(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), "read the memory pool");
  return free_bytes + (reserved - used);
}

void synchronize(Stream stream) {
  if (why_no_cuda().empty()) check_cuda(cudaStreamSynchronize(stream), "wait for a stream");
}

namespace detail {

void* allocate(Memory memory, std::size_t bytes, Stream stream) {
  if (bytes == 0) return nullptr;
  if (memory == Memory::host) return allocate_host(bytes);
  require_cuda();
  static std::once_flag once;
  std::call_once(once, keep_device_memory);
  void* pointer = nullptr;
  const cudaError_t status =
      memory == Memory::pinned ? cudaMallocHost(&pointer, bytes) : cudaMallocAsync(&pointer, bytes, stream);
  if (status != cudaSuccess) {
    (void)cudaGetLastError();
    throw OutOfMemory(fmt::format("cannot allocate {:.1f} MiB of {} memory: {}",
                                         static_cast<double>(bytes) / 1048576.0,
                                         memory == Memory::pinned ? "pinned" : "GPU", cudaGetErrorString(status)));
  }
  return pointer;
}

void release(Memory memory, void* pointer, Stream stream) noexcept {
  if (!pointer) return;
  if (memory == Memory::host) std::free(pointer);
  if (memory == Memory::pinned) (void)cudaFreeHost(pointer);
  if (memory == Memory::device) (void)cudaFreeAsync(pointer, stream);
}

void copy(void* to, Memory to_memory, const void* from, Memory from_memory, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  if (on_host(to_memory) && on_host(from_memory)) {
    std::memcpy(to, from, bytes);
    return;
  }
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "copy between host and device");
}

void zero(void* pointer, Memory memory, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  if (on_host(memory)) {
    std::memset(pointer, 0, bytes);
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
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void zero(void* pointer, Memory, std::size_t bytes, Stream) {
  if (bytes > 0) std::memset(pointer, 0, bytes);
}

}  // namespace detail

#endif

void require_cuda() {
  if (const std::string reason = why_no_cuda(); !reason.empty())
    throw std::runtime_error(reason + ": use backend cpu or auto");
}

}  // namespace tofstream
