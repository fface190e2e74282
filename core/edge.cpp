#include "core/edge.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace tofstream {

bool Edge::fits(std::size_t share) const {
  const EdgeSettings& limits = description_->settings;
  if (closed_ || limits.policy == EdgePolicy::drop_oldest) return true;
  if (queue_.empty() && reserved_ == 0) return true;
  return queue_.size() + reserved_ < std::max<std::size_t>(limits.messages / share, 1) &&
         bytes_ + reserved_ * largest_ < limits.bytes / share;
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
  queue_.push_back(std::move(message));
  figures_.most_messages = std::max(figures_.most_messages, queue_.size());
  figures_.most_bytes = std::max(figures_.most_bytes, bytes_);
}

Message Edge::pop() {
  Message message = std::move(queue_.front());
  queue_.pop_front();
  bytes_ -= message.bytes;
  return message;
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
