// A bounded edge: the queue between one output and one input, limited by messages and by bytes,
// with places that a writer reserves before it computes. With `policy: spill` the queue holds what its
// reader takes next, and a spill buffer what comes behind. An edge has no lock of its own: the run's one
// lock guards it.
#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <boost/circular_buffer.hpp>

#include "core/pipeline/pipeline.hpp"
#include "core/report/report.hpp"
#include "core/run/message.hpp"
#include "core/run/spill_buffer.hpp"

namespace tofstream {

struct Node;

class Edge {
 public:
  Edge(const PipelineEdge& description, const PayloadType& type, Node& from, Node& to);

  Node* const writer;
  Node* const reader;

  const PipelineEdge& description() const { return *description_; }
  EdgeFigures figures() const;

  bool has_message() const { return !queue_.empty(); }
  const Message& head() const { return queue_.front(); }
  std::size_t size() const { return queue_.size(); }
  // Nothing waits, neither in memory nor on disk.
  bool is_empty() const { return queue_.empty() && !(spill_ && !spill_->empty()); }
  // The writer has ended and every message was taken.
  bool is_over() const { return ended_ && is_empty(); }
  // How many more messages may be put in. Each of these, and each reserved place, counts as large as the largest
  // message so far. A single message may exceed the limit of bytes; two may not.
  std::size_t room() const { return room_within(1); }
  bool has_room() const { return room() > 0; }
  // Enough room that waking a writer's thread pays.
  bool has_ample_room() const { return room_within(2) > 0; }

  void reserve(std::size_t places) { reserved_ += places; }
  void release(std::size_t places) { reserved_ -= places; }

  // The writer promises that no later message has a smaller origin than this.
  void promise(std::uint64_t origin) { promised_ = std::max(promised_, origin); }
  std::uint64_t promised() const { return promised_; }
  // No message that is still to be taken from this edge has a smaller origin; all ones when it is over.
  std::uint64_t least_origin() const;

  // Puts a message in. What is discarded (the oldest, or this one if nobody reads any more) goes to
  // `trash`, to be destroyed outside the lock.
  void push(Message message, std::vector<Message>& trash);
  Message pop() {
    Message message = std::move(queue_.front());
    queue_.pop_front();
    bytes_ -= message.bytes;
    if (spill_) refill();
    return message;
  }

  // Counts a message that is thrown away.
  void count_drop(const Message& message);

  void end();
  // The reader takes no more: what is left goes to `trash`, and what comes is discarded. On a
  // feedback edge that is how every stream ends, so it is no drop.
  void close(std::vector<Message>& trash);

  // What waits behind the queue of an edge that spills, and is moved between memory and disk by a thread of its own;
  // null if the edge does not spill.
  SpillBuffer* spill() const { return spill_.get(); }
  // The thread that moves has something to do: a chunk to move, or to end.
  bool has_to_move() const { return is_moved_for_good() ? !mover_is_gone_ : next_to_move() != nullptr; }
  bool is_moved_for_good() const { return closed_ || (ended_ && spill_->empty()); }
  std::shared_ptr<SpillChunk> begin_move();
  bool is_moving() const { return is_moving_; }
  void end_move(SpillChunk& chunk);
  // What is left, to be destroyed without the lock.
  SpillBuffer::Chunks end_mover();
  std::condition_variable mover_wakes;

 private:
  std::size_t room_within(std::size_t share) const;  // of the limits divided by `share`
  std::size_t places(std::size_t taken, std::size_t bytes, std::size_t most, std::size_t most_bytes) const;
  void enqueue(Message&& message);

  bool reader_has_room() const {
    return queue_.empty() || bytes_ + queue_.size() * sizeof(Message) < description_->settings.bytes / 2;
  }
  const SpillChunk* next_to_move() const { return spill_->next_to_move(reader_has_room()); }
  void wake_mover() {
    if (has_to_move()) mover_wakes.notify_one();
  }
  void refill();

  const PipelineEdge* description_;
  boost::circular_buffer<Message> queue_;  // grows as needed, and keeps its memory
  std::size_t bytes_ = 0;
  std::size_t reserved_ = 0;
  std::size_t largest_ = 0;  // message so far, in bytes
  std::uint64_t promised_ = 0;
  bool ended_ = false;
  bool closed_ = false;
  bool is_moving_ = false;
  bool mover_is_gone_ = false;
  std::unique_ptr<SpillBuffer> spill_;  // what waits behind queue_
  EdgeFigures figures_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
