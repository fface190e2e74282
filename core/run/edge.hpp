// A bounded edge: the queue between one output and one input, limited by messages and by bytes,
// with places that a writer reserves before it computes. Not locked: the scheduler's one lock
// guards every edge.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <boost/circular_buffer.hpp>

#include "core/gadget/context.hpp"
#include "core/gadget/payload.hpp"
#include "core/pipeline/pipeline.hpp"
#include "core/report/report.hpp"

namespace tofstream {

struct Node;

struct Message {
  Payload payload;
  MessageInfo info;
  std::uint64_t events = 0;
  std::size_t bytes = 0;
};

class Edge {
 public:
  Edge(const PipelineEdge& description, Node& from, Node& to)
      : writer(&from), reader(&to), description_(&description) {}

  Node* const writer;
  Node* const reader;

  const PipelineEdge& description() const { return *description_; }
  EdgeFigures figures() const;

  bool has_message() const { return !queue_.empty(); }
  const Message& head() const { return queue_.front(); }
  std::size_t size() const { return queue_.size(); }
  // The writer has ended and every message was taken.
  bool is_over() const { return ended_ && queue_.empty(); }
  // How many more messages may be put in; a reserved place, and each of these, counts as large as the largest message
  // so far. A single message may exceed the limit of bytes; two may not.
  std::size_t room() const { return room_within(1); }
  bool has_room() const { return room() > 0; }
  // Enough room that waking a writer's thread pays.
  bool has_ample_room() const { return room_within(2) > 0; }

  void reserve(std::size_t places) { reserved_ += places; }
  void release(std::size_t places) { reserved_ -= places; }

  // The writer promises that no later message stems from an earlier one of the source's.
  void promise(std::uint64_t origin) { promised_ = std::max(promised_, origin); }
  std::uint64_t promised() const { return promised_; }
  // No message that is still to be taken from this edge has a smaller origin; all ones when it is over.
  std::uint64_t least_origin() const;

  // Puts a message in; whatever is discarded (an oldest one, or this one where nobody reads any
  // more) goes to `trash`, to be destroyed outside the lock.
  void push(Message message, std::vector<Message>& trash);
  Message pop() {
    Message message = std::move(queue_.front());
    queue_.pop_front();
    bytes_ -= message.bytes;
    return message;
  }

  // Counts a message that is thrown away.
  void count_drop(const Message& message);

  void end() { ended_ = true; }
  // The reader takes no more: what is left goes to `trash`, and what comes is discarded. On a
  // feedback edge that is how every stream ends, so it is no drop.
  void close(std::vector<Message>& trash);

 private:
  std::size_t room_within(std::size_t share) const;  // of the limits divided by `share`

  const PipelineEdge* description_;
  boost::circular_buffer<Message> queue_;  // grows as needed, and keeps its memory
  std::size_t bytes_ = 0;
  std::size_t reserved_ = 0;
  std::size_t largest_ = 0;  // message so far, in bytes
  std::uint64_t promised_ = 0;
  bool ended_ = false;
  bool closed_ = false;
  EdgeFigures figures_;
};

}  // namespace tofstream
