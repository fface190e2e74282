// Where data lives, and one owning array for host, pinned and device memory.
// Device memory is ordered on a CUDA stream; a build without CUDA, or a machine without a GPU,
// refuses it in plain words.
#pragma once

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

struct CUstream_st;

namespace tofstream {

/// A CUDA stream (cudaStream_t); null is the default stream, and what the CPU passes.
using Stream = CUstream_st*;

enum class Backend { cpu, cuda };
enum class Memory { host, pinned, device };

/// True for memory that the host can read and write.
constexpr bool on_host(Memory memory) {
  return memory != Memory::device;
}
/// Memory in which a backend's kernels expect their arrays.
constexpr Memory memory_of(Backend backend) {
  return backend == Backend::cuda ? Memory::device : Memory::host;
}

/// Memory was refused; says how much of which.
class OutOfMemory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Empty where a CUDA device can be used; otherwise why not, in one line (no CUDA in this build, no
/// device, no driver).
std::string why_no_cuda();
/// Name of the current CUDA device; empty where there is none.
std::string cuda_device_name();
/// Throws std::runtime_error with why_no_cuda() unless a CUDA device can be used.
void require_cuda();
/// Bytes that can be had on the current CUDA device. Throws where there is none.
std::size_t free_device_bytes();
/// Bytes of host memory that can be had without swapping, as the system estimates, within the control group's limit;
/// with what the program keeps of pinned memory. The largest number where the system does not say.
std::size_t free_host_bytes();
/// Bytes of pinned memory that the program uses now.
std::size_t used_pinned_bytes();
/// The stream for copies that go on beside what the device computes on the default stream: the two do not wait for each
/// other. One for the program; null where there is no device.
Stream copy_stream();
/// Waits until everything queued on the stream is done. Nothing to do on the CPU.
void synchronize(Stream stream);

namespace detail {
/// Uninitialised bytes; null for none. Throws OutOfMemory.
void* allocate(Memory memory, std::size_t bytes, Stream stream);
void release(Memory memory, void* pointer, Stream stream) noexcept;
/// Queues a copy between any two memories on the stream; complete on return when both sides are
/// host memory.
void copy(void* to, Memory to_memory, const void* from, Memory from_memory, std::size_t bytes, Stream stream);
void zero(void* pointer, Memory memory, std::size_t bytes, Stream stream);
}  // namespace detail

/// Owns `size()` elements of a trivially copyable type in one kind of memory. Move-only; contents
/// start uninitialised.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  /// Allocates `size` elements, device memory in stream order. Throws OutOfMemory where memory is refused.
  Buffer(Memory memory, std::int64_t size, Stream stream = nullptr)
      : size_(checked(size)), memory_(memory), stream_(stream) {
    data_ = static_cast<T*>(detail::allocate(memory, static_cast<std::size_t>(size_) * sizeof(T), stream));
  }
  Buffer(const Buffer& other) : Buffer(other.to(other.memory_, other.stream_)) {}
  Buffer& operator=(const Buffer& other) {
    Buffer copied(other);
    swap(copied);
    return *this;
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~Buffer() {
    if (!owner_) detail::release(memory_, data_, stream_);
  }

  /// Host memory that someone else made, such as memory shared with another process, without a copy: `owner` keeps it
  /// alive. Copies of the buffer are ordinary ones.
  static Buffer adopt(T* data, std::int64_t size, std::shared_ptr<const void> owner) {
    if (!owner) throw std::logic_error("a buffer adopts memory that nobody keeps alive");
    Buffer result;
    result.data_ = data;
    result.size_ = checked(size);
    result.owner_ = std::move(owner);
    return result;
  }

  /// A host buffer that holds a copy of `values`.
  static Buffer from(std::span<const T> values) {
    Buffer result(Memory::host, static_cast<std::int64_t>(values.size()));
    if (!values.empty()) std::memcpy(result.data_, values.data(), values.size_bytes());
    return result;
  }
  /// `size` elements, all bytes zero.
  static Buffer zeros(Memory memory, std::int64_t size, Stream stream = nullptr) {
    Buffer result(memory, size, stream);
    result.clear(stream);
    return result;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }
  Memory memory() const { return memory_; }

  /// The elements, for host memory only. Throws std::logic_error for device memory.
  std::span<T> span() { return {host_data(), static_cast<std::size_t>(size_)}; }
  std::span<const T> span() const { return {host_data(), static_cast<std::size_t>(size_)}; }
  T& operator[](std::int64_t i) { return data_[i]; }
  const T& operator[](std::int64_t i) const { return data_[i]; }

  void clear(Stream stream = nullptr) { detail::zero(data_, memory_, bytes(), stream); }
  /// A copy in the given memory, queued on the stream (complete on return between host memories).
  Buffer to(Memory memory, Stream stream = nullptr) const {
    Buffer result(memory, size_, stream);
    detail::copy(result.data_, memory, data_, memory_, bytes(), stream);
    return result;
  }
  /// The elements in a vector on the host, complete on return.
  std::vector<T> to_vector(Stream stream = nullptr) const {
    std::vector<T> result(static_cast<std::size_t>(size_));
    detail::copy(result.data(), Memory::host, data_, memory_, bytes(), stream);
    synchronize(stream);
    return result;
  }

 private:
  static std::int64_t checked(std::int64_t size) {
    if (size < 0 || static_cast<std::uint64_t>(size) > PTRDIFF_MAX / sizeof(T))
      throw std::length_error("buffer of " + std::to_string(size) + " elements asked for");
    return size;
  }
  T* host_data() const {
    if (!on_host(memory_)) throw std::logic_error("device memory cannot be read by the host: copy it first");
    return data_;
  }
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(memory_, other.memory_);
    std::swap(stream_, other.stream_);
    std::swap(owner_, other.owner_);
  }

  T* data_ = nullptr;
  std::int64_t size_ = 0;
  Memory memory_ = Memory::host;
  Stream stream_ = nullptr;
  std::shared_ptr<const void> owner_;  // of adopted memory; null where the buffer owns it itself
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
