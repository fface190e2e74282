// Frames in and images out: see session_link.hpp.
#include "tools/serve/session_link.hpp"

#include <utility>

namespace tofstream::serve {

namespace {
constexpr std::size_t most_images = 2;  // that wait for a client that wants every image
}

bool SessionLink::put(RawFrame frame) {
  const std::lock_guard lock(mutex_);
  if (untaken_ >= settings_.window_bytes) return false;
  if (is_closed_) return true;  // after the end of the stream
  untaken_ += frame.data.size();
  frames_.push_back(std::move(frame));
  came_.notify_one();
  return true;
}

void SessionLink::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  came_.notify_all();
}

std::uint64_t SessionLink::take_credit() {
  const std::lock_guard lock(mutex_);
  return std::exchange(credit_, 0);
}

std::optional<std::vector<std::byte>> SessionLink::next_image() {
  const std::lock_guard lock(mutex_);
  if (images_.empty()) return {};
  auto image = std::move(images_.front());
  images_.pop_front();
  went_.notify_one();
  return image;
}

std::optional<RawFrame> SessionLink::take(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  came_.wait(lock, stop, [&] { return !frames_.empty() || is_closed_; });
  if (frames_.empty()) return {};
  RawFrame frame = std::move(frames_.front());
  frames_.pop_front();
  untaken_ -= frame.data.size();
  credit_ += frame.data.size();
  lock.unlock();
  settings_.wake();
  return frame;
}

void SessionLink::put_image(std::vector<std::byte> message, const std::stop_token& stop) {
  {
    std::unique_lock lock(mutex_);
    if (settings_.images == Images::all)
      went_.wait(lock, stop, [&] { return images_.size() < most_images; });
    else
      images_.clear();
    images_.push_back(std::move(message));
  }
  settings_.wake();
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
