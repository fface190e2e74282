// Joining time blocks: see time_block_frame.hpp.
#include "gadgets/io/wire/time_block_frame.hpp"

#include <utility>

#include "gadgets/io/petsird/event_codec.hpp"

namespace tofstream::wire {

namespace {

constexpr std::uint64_t ns_per_ms = 1'000'000;

}  // namespace

void TimeBlockFrame::add(const petsird::TimeBlockCutter::Block& block) {
  if (blocks_++ == 0) header_.start_ns = ns_per_ms * block.interval.start_ms;
  chunk_.insert(chunk_.end(), block.bytes.begin(), block.bytes.end());
  header_.events += block.events;
  if (block.kind != petsird::BlockKind::event || block.interval.stop_ms <= block.interval.start_ms) return;
  const std::uint64_t duration_ns = ns_per_ms * (block.interval.stop_ms - block.interval.start_ms);
  header_.duration_ns += duration_ns;
  scanned_ns_ += duration_ns;
  end_ns_ = ns_per_ms * block.interval.stop_ms;
}

// The payload is one chunk of the stream: the number of its blocks, then they.
TimeBlockFrame::Taken TimeBlockFrame::take() {
  Taken taken{std::exchange(header_, {.schema = Schema::petsird}), std::vector<std::byte>(header_bytes)};
  petsird::append_varint(taken.bytes, std::exchange(blocks_, 0));
  taken.bytes.insert(taken.bytes.end(), chunk_.begin(), chunk_.end());
  chunk_.clear();
  return taken;
}

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
