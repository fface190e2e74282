// The order of a stream's frames: see stream_order.hpp.
#include "gadgets/io/wire/stream_order.hpp"

#include <algorithm>
#include <iterator>

namespace tofstream::wire {
namespace {

constexpr std::size_t most_gaps = 4096;  // that may still be filled; a stream of nothing but gaps must not take memory

}  // namespace

Arrival StreamOrder::take(const FrameHeader& header) {
  if (header.kind == FrameKind::stream_header && !stream_) {
    stream_ = header.stream;
    return Arrival::wanted;
  }
  if (!stream_) {
    ++counts_.before_header;
    return Arrival::before_header;
  }
  if (header.stream != *stream_) {
    ++counts_.of_other_streams;
    return Arrival::other_stream;
  }
  if (header.kind == FrameKind::stream_header) return Arrival::header_again;
  if (header.sequence >= next_) {
    if (header.sequence > next_) add_gap(next_, header.sequence);
    next_ = header.sequence + 1;
  } else if (fill_gap(header.sequence)) {
    ++counts_.late;
  } else {
    ++counts_.duplicates;
    return Arrival::duplicate;
  }
  ++counts_.frames;
  counts_.events += header.events;
  events_sent_ = std::max(events_sent_, header.first_event + header.events);
  has_ended_ = has_ended_ || header.kind == FrameKind::end;
  return Arrival::wanted;
}

void StreamOrder::begin_at(const FrameHeader& first) {
  next_ = first.sequence;
  left_out_events_ = first.first_event;
}

void StreamOrder::add_gap(std::uint64_t begin, std::uint64_t end) {
  gaps_.emplace(begin, end);
  if (gaps_.size() <= most_gaps) return;
  given_up_ += gaps_.begin()->second - gaps_.begin()->first;
  gaps_.erase(gaps_.begin());
}

bool StreamOrder::fill_gap(std::uint64_t sequence) {
  const auto after = gaps_.upper_bound(sequence);
  if (after == gaps_.begin()) return false;
  const auto [begin, end] = *std::prev(after);
  if (sequence >= end) return false;
  gaps_.erase(begin);
  if (begin < sequence) add_gap(begin, sequence);
  if (sequence + 1 < end) add_gap(sequence + 1, end);
  return true;
}

std::uint64_t StreamOrder::missing_frames() const {
  std::uint64_t sum = given_up_;
  for (const auto& [begin, end] : gaps_) sum += end - begin;
  return sum;
}

std::uint64_t StreamOrder::missing_events() const {
  const std::uint64_t accounted = counts_.events + left_out_events_;
  return events_sent_ > accounted ? events_sent_ - accounted : 0;
}

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
