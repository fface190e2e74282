#include "core/run/edge.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace tofstream {

std::size_t Edge::room_within(std::size_t share) const {
  const EdgeSettings& limits = description_->settings;
  if (closed_ || limits.policy == EdgePolicy::drop_oldest) return std::numeric_limits<std::size_t>::max();
  const std::size_t taken = queue_.size() + reserved_, bytes = bytes_ + reserved_ * largest_;
  const std::size_t most = std::max<std::size_t>(limits.messages / share, 1), most_bytes = limits.bytes / share;
  if (taken == 0)
    return largest_ == 0 ? 1 : std::min(most, 1 + (most_bytes - std::min(most_bytes, largest_)) / largest_);
  if (taken >= most || bytes >= most_bytes) return 0;
  return largest_ == 0 ? 1 : std::min(most - taken, 1 + (most_bytes - bytes - 1) / largest_);
}

std::uint64_t Edge::least_origin() const {
  if (!queue_.empty()) return queue_.front().info.origin;
  return ended_ ? std::numeric_limits<std::uint64_t>::max() : promised_;
}

EdgeFigures Edge::figures() const {
  EdgeFigures figures = figures_;
  figures.waiting_messages = queue_.size();
  figures.waiting_bytes = bytes_;
  return figures;
}

void Edge::push(Message message, std::vector<Message>& trash) {
  if (closed_) {
    count_drop(message);
    trash.push_back(std::move(message));
    return;
  }
  ++figures_.messages;
  const EdgeSettings& limits = description_->settings;
  if (limits.policy == EdgePolicy::drop_oldest) {
    while (!queue_.empty() && (queue_.size() >= limits.messages || bytes_ + message.bytes > limits.bytes)) {
      count_drop(queue_.front());
      trash.push_back(pop());
    }
  }
  bytes_ += message.bytes;
  largest_ = std::max(largest_, message.bytes);
  if (queue_.full()) queue_.set_capacity(std::max<std::size_t>(8, 2 * queue_.capacity()));
  queue_.push_back(std::move(message));
  figures_.most_messages = std::max(figures_.most_messages, queue_.size());
  figures_.most_bytes = std::max(figures_.most_bytes, bytes_);
}

void Edge::close(std::vector<Message>& trash) {
  closed_ = true;
  for (const Message& message : queue_) count_drop(message);
  std::move(queue_.begin(), queue_.end(), std::back_inserter(trash));
  queue_.clear();
  bytes_ = 0;
}

void Edge::count_drop(const Message& message) {
  if (closed_ && description_->is_feedback) return;
  ++figures_.dropped_messages;
  figures_.dropped_events += message.events;
}

}  // namespace tofstream
