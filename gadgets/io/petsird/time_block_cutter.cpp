// Blocks as bytes: see time_block_cutter.hpp. The decoder finds where each ends.
#include "gadgets/io/petsird/time_block_cutter.hpp"

#include <utility>

#include "gadgets/io/petsird/input.hpp"

namespace tofstream::petsird {
namespace {

std::uint64_t events_of(const StreamCounts& counts) {
  return counts.prompts + counts.delayeds + counts.ignored;
}

}  // namespace

void TimeBlockCutter::push(std::span<const std::byte> bytes) {
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(cut_ - held_begin_));
  held_begin_ = cut_;
  held_.insert(held_.end(), bytes.begin(), bytes.end());
  decoder_.push(bytes);
}

// What the decoder has read since this was called last.
std::span<const std::byte> TimeBlockCutter::taken() {
  const std::uint64_t begin = std::exchange(cut_, decoder_.offset());
  return std::span<const std::byte>(held_).subspan(begin - held_begin_, cut_ - begin);
}

void TimeBlockCutter::on_block_begin(BlockKind, TimeInterval interval) {
  interval_ = interval;
}

void TimeBlockCutter::on_block_end(BlockKind kind) {
  std::span<const std::byte> bytes = taken();
  if (blocks_left_ == 0) {  // the count of a new chunk stands before its first block
    Input input;
    input.feed(bytes);
    input.varint(blocks_left_, 64);
    bytes = input.rest();
  }
  --blocks_left_;
  const std::uint64_t events = events_of(decoder_.counts());
  receiver_.on_block({bytes, events - std::exchange(events_before_, events), kind, interval_});
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
