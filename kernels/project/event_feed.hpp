// Brings batches of events from host memory to the GPU, each while the one before is projected: events that do not fit
// the GPU are then projected at the speed of those that do, as long as the bus is faster than the projector.
#pragma once

#include <cstddef>
#include <future>
#include <memory>

#include "kernels/types/events.hpp"

namespace tofstream {

class EventFeed {
 public:
  /// Waits for a copy that has begun.
  ~EventFeed();

  /// Begins to copy a batch that lies on the host to the device, beside what the device computes: at the speed of the
  /// bus from pinned memory, slower from other memory. Nothing to do for null, a batch on the device, or one whose copy
  /// has begun; a copy of another batch that has begun is dropped.
  void begin(const std::shared_ptr<const EventBatch>& batch);
  /// The copy of a batch in device memory, complete; one that has not begun is made now. Throws OutOfMemory where the
  /// device has no room for it.
  EventBatch take(const std::shared_ptr<const EventBatch>& batch);

  /// What has been copied in all, and how long copies took (waiting for one another not counted).
  std::size_t copied_bytes() const { return copied_bytes_; }
  double copy_seconds() const { return copy_seconds_; }

 private:
  struct Copied {
    EventBatch events;
    double seconds = 0;
  };
  static Copied copy(const EventBatch& batch);

  std::shared_ptr<const EventBatch> coming_;
  std::future<Copied> copy_;
  std::size_t copied_bytes_ = 0;
  double copy_seconds_ = 0;
};

}  // namespace tofstream
