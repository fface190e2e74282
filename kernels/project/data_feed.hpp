// Brings batches of data from host memory to a GPU, each while the one before is projected: data that do not fit the
// GPU are then projected at the speed of those that do, as long as the bus is faster than the projector.
#pragma once

#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <utility>

#include "kernels/memory/devices.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/types/parts.hpp"

namespace tofstream {

/// Data that can be cut (kernels/types/parts.hpp).
template <class Data>
concept Divisible = requires(const Data& data, Range range, Memory memory, Stream stream) {
  range_size(data);
  range_of(data, range, memory, stream);
  range_of(data.view(), range);
};

/// All of a batch; of data that cannot be cut, of which nobody asks for less, it is empty.
template <class Data>
Range whole_of(const Data& data) {
  if constexpr (Divisible<Data>) return {0, range_size(data)};
  return {};
}

/// A copy of the range in the given memory.
template <class Data>
Data copy_of(const Data& data, Range range, Memory memory, Stream stream = nullptr) {
  if constexpr (Divisible<Data>)
    if (range != whole_of(data)) return range_of(data, range, memory, stream);
  return data.to(memory, stream);
}

/// `Data`: an owned batch with memory(), bytes() and to(memory, stream), such as EventBatch.
template <class Data>
class DataFeed {
 public:
  DataFeed() = default;
  /// Waits for a copy that has begun.
  ~DataFeed() {
    if (copy_.valid()) copy_.wait();
  }
  DataFeed(const DataFeed&) = delete;
  DataFeed& operator=(const DataFeed&) = delete;

  /// Begins to copy a batch that lies on the host to the device, beside what the device computes: at the speed of the
  /// bus from pinned memory, slower from other memory. Nothing to do for null, a batch on the device, or one whose copy
  /// has begun; a copy of another batch that has begun is dropped.
  void begin(const std::shared_ptr<const Data>& batch) {
    if (batch) begin(batch, whole_of(*batch));
  }
  /// The same of a range of it.
  void begin(const std::shared_ptr<const Data>& batch, Range range) {
    if (!batch || (batch == coming_ && range == range_) || !on_host(batch->memory())) return;
    if (copy_.valid()) copy_.wait();
    // On a thread of its own, since the driver blocks the caller while it copies from memory that is not pinned.
    copy_ = std::async(std::launch::async, [batch, range, device = current_device()] {
      use_device(device);
      return copy(*batch, range);
    });
    coming_ = batch;
    range_ = range;
  }

  /// The copy of a batch in device memory, complete; one that has not begun is made now. Throws OutOfMemory where the
  /// device has no room for it.
  Data take(const std::shared_ptr<const Data>& batch) { return take(batch, whole_of(*batch)); }
  Data take(const std::shared_ptr<const Data>& batch, Range range) {
    begin(batch, range);
    coming_ = {};
    Copied copied = copy_.get();
    copied_bytes_ += copied.data.bytes();
    copy_seconds_ += copied.seconds;
    return std::move(copied.data);
  }

  /// What has been copied in all, and how long copies took (waiting for one another not counted).
  std::size_t copied_bytes() const { return copied_bytes_; }
  double copy_seconds() const { return copy_seconds_; }

 private:
  struct Copied {
    Data data;
    double seconds = 0;
  };
  static Copied copy(const Data& batch, Range range) {
    const auto began = std::chrono::steady_clock::now();
    Copied copied{copy_of(batch, range, Memory::device, copy_stream()), 0};
    synchronize(copy_stream());
    copied.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return copied;
  }

  std::shared_ptr<const Data> coming_;
  Range range_;  // of it
  std::future<Copied> copy_;
  std::size_t copied_bytes_ = 0;
  double copy_seconds_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
