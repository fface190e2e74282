// Frames that wait, in memory or in a file: see frame_queue.hpp.
#include "gadgets/wire/frame_queue.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "kernels/memory/memory.hpp"

namespace tofstream {

void FrameQueue::put(RawFrame frame, std::optional<FilePlace> kept, const std::stop_token& stop) {
  const std::size_t size = frame.data.size();
  std::unique_lock lock(mutex_);
  Item item;
  if (has_room(size))
    item = std::move(frame);
  else
    item = stored_or_held_back(std::move(frame), std::move(kept), lock, stop);
  if (std::holds_alternative<RawFrame>(item)) {
    memory_ += size;
  } else {
    ++figures_.spilled_frames;
    figures_.spilled_bytes += size;
  }
  bytes_ += size;
  items_.push_back(std::move(item));
  figures_.most_frames = std::max<std::uint64_t>(figures_.most_frames, items_.size());
  figures_.most_bytes = std::max(figures_.most_bytes, bytes_);
  came_.notify_one();
}

// A frame that memory has no room for. The lock is given up while a file is written.
FrameQueue::Item FrameQueue::stored_or_held_back(RawFrame frame, std::optional<FilePlace> kept,
                                                 std::unique_lock<std::mutex>& lock, const std::stop_token& stop) {
  if (kept) return Stored{std::move(*kept), {}, frame.ingress_ns, frame.entered};
  lock.unlock();
  SpillPiece piece = spill(frame);
  lock.lock();
  if (piece) return Stored{piece.place(), std::move(piece), frame.ingress_ns, frame.entered};
  figures_.held_back = true;
  went_.wait(lock, stop, [&] { return has_room(frame.data.size()); });
  return frame;
}

// An empty piece where the disk does not take it.
SpillPiece FrameQueue::spill(const RawFrame& frame) {
  if (file_failed_) return {};
  try {
    if (!file_) file_ = SpillFile::in(settings_.spill_folder);
    const std::span<const std::byte> parts[] = {frame.data};
    return file_->put(parts);
  } catch (const std::exception& error) {
    file_failed_ = true;
    settings_.warn(
        fmt::format("the pipeline is slower than the stream, and frames cannot wait on disk, so the sender waits: {}; "
                    "set spill_folder to a larger disk",
                    error.what()));
    return {};
  }
}

void FrameQueue::close(std::exception_ptr cause) {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  cause_ = std::move(cause);
  came_.notify_all();
}

std::optional<RawFrame> FrameQueue::take(const std::optional<Clock::time_point>& deadline) {
  std::unique_lock lock(mutex_);
  const auto is_ready = [&] { return !items_.empty() || is_closed_; };
  if (deadline)
    came_.wait_until(lock, *deadline, is_ready);
  else
    came_.wait(lock, is_ready);
  if (items_.empty()) {
    if (is_closed_ && cause_) std::rethrow_exception(std::exchange(cause_, {}));
    return {};
  }
  Item item = std::move(items_.front());
  items_.pop_front();
  if (auto* const frame = std::get_if<RawFrame>(&item)) {
    bytes_ -= frame->data.size();
    memory_ -= frame->data.size();
    went_.notify_one();
    return std::move(*frame);
  }
  const Stored& stored = std::get<Stored>(item);
  bytes_ -= stored.place.size;
  lock.unlock();
  return read(stored);
}

// Without the lock.
RawFrame FrameQueue::read(const Stored& stored) {
  const auto bytes = std::make_shared<Buffer<std::byte>>(Memory::host, static_cast<std::int64_t>(stored.place.size));
  stored.place.read(0, bytes->span());
  return {.owner = bytes, .data = bytes->span(), .ingress_ns = stored.ingress_ns, .entered = stored.entered};
}

bool FrameQueue::is_over() const {
  const std::lock_guard lock(mutex_);
  return items_.empty() && is_closed_;
}

FrameQueue::Figures FrameQueue::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
