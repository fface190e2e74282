#include "core/run/edge.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace tofstream {

Edge::Edge(const PipelineEdge& description, const PayloadType& type, Node& from, Node& to)
    : writer(&from), reader(&to), description_(&description) {
  if (description.settings.policy == EdgePolicy::spill)
    spill_ = std::make_unique<SpillBuffer>(description.settings, type);
}

std::size_t Edge::room_within(std::size_t share) const {
  const EdgeSettings& limits = description_->settings;
  constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
  if (closed_ || limits.policy == EdgePolicy::drop_oldest) return no_limit;
  if (spill_)
    return places(spill_->messages_in_memory(), spill_->weight_in_memory(), no_limit, limits.bytes / 2 / share);
  return places(queue_.size(), bytes_, std::max<std::size_t>(limits.messages / share, 1), limits.bytes / share);
}

std::size_t Edge::places(std::size_t taken, std::size_t bytes, std::size_t most, std::size_t most_bytes) const {
  taken += reserved_;
  bytes += reserved_ * largest_;
  if (taken == 0)
    return largest_ == 0 ? 1 : std::min(most, 1 + (most_bytes - std::min(most_bytes, largest_)) / largest_);
  if (taken >= most || bytes >= most_bytes) return 0;
  return largest_ == 0 ? 1 : std::min(most - taken, 1 + (most_bytes - bytes - 1) / largest_);
}

std::uint64_t Edge::least_origin() const {
  if (!queue_.empty()) return queue_.front().info.origin;
  if (spill_ && !spill_->empty()) return spill_->first_origin();
  return ended_ ? std::numeric_limits<std::uint64_t>::max() : promised_;
}

EdgeFigures Edge::figures() const {
  EdgeFigures figures = figures_;
  figures.waiting_messages = queue_.size();
  figures.waiting_bytes = bytes_;
  if (spill_) spill_->add_figures(figures);
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
  largest_ = std::max(largest_, message.bytes + (spill_ ? sizeof(Message) : 0));
  if (spill_ && (!spill_->empty() || !reader_has_room())) {
    spill_->push(std::move(message));
    wake_mover();
  } else {
    enqueue(std::move(message));
  }
  figures_.most_messages = std::max(figures_.most_messages, queue_.size() + (spill_ ? spill_->messages() : 0));
  figures_.most_bytes = std::max(figures_.most_bytes, bytes_ + (spill_ ? spill_->bytes_in_memory() : 0));
}

void Edge::enqueue(Message&& message) {
  bytes_ += message.bytes;
  if (queue_.full()) queue_.set_capacity(std::max<std::size_t>(8, 2 * queue_.capacity()));
  queue_.push_back(std::move(message));
}

// Takes from the spill buffer what the reader has room for.
void Edge::refill() {
  while (!spill_->empty() && reader_has_room()) {
    std::vector<Message> next = spill_->take_first();
    if (next.empty()) break;
    for (Message& message : next) enqueue(std::move(message));
  }
  wake_mover();
}

std::shared_ptr<SpillChunk> Edge::begin_move() {
  is_moving_ = true;
  return spill_->begin_move(reader_has_room());
}

void Edge::end_move(SpillChunk& chunk) {
  is_moving_ = false;
  if (closed_) return;
  spill_->end_move(chunk);
  refill();
}

SpillBuffer::Chunks Edge::end_mover() {
  mover_is_gone_ = true;
  return spill_->take_all();
}

void Edge::end() {
  ended_ = true;
  if (spill_) wake_mover();
}

void Edge::close(std::vector<Message>& trash) {
  closed_ = true;
  for (const Message& message : queue_) count_drop(message);
  std::move(queue_.begin(), queue_.end(), std::back_inserter(trash));
  queue_.clear();
  bytes_ = 0;
  if (!spill_) return;
  if (!description_->is_feedback) spill_->count_events(figures_.dropped_messages, figures_.dropped_events);
  mover_wakes.notify_one();
}

void Edge::count_drop(const Message& message) {
  if (closed_ && description_->is_feedback) return;
  ++figures_.dropped_messages;
  figures_.dropped_events += message.events;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
