// Copies on a stream and a thread of their own: see event_feed.hpp.
#include "kernels/project/event_feed.hpp"

#include <chrono>
#include <utility>

namespace tofstream {

EventFeed::~EventFeed() {
  if (copy_.valid()) copy_.wait();
}

void EventFeed::begin(const std::shared_ptr<const EventBatch>& batch) {
  if (!batch || batch == coming_ || !on_host(batch->memory())) return;
  if (copy_.valid()) copy_.wait();
  // A thread, since the driver holds up who asks for a copy from memory that is not pinned.
  copy_ = std::async(std::launch::async, [batch] { return copy(*batch); });
  coming_ = batch;
}

EventBatch EventFeed::take(const std::shared_ptr<const EventBatch>& batch) {
  begin(batch);
  coming_ = {};
  Copied copied = copy_.get();
  copied_bytes_ += copied.events.bytes();
  copy_seconds_ += copied.seconds;
  return std::move(copied.events);
}

EventFeed::Copied EventFeed::copy(const EventBatch& batch) {
  const auto began = std::chrono::steady_clock::now();
  Copied copied{batch.to(Memory::device, copy_stream()), 0};
  synchronize(copy_stream());
  copied.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return copied;
}

}  // namespace tofstream
