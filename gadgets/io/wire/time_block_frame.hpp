// Time blocks of a PETSIRD stream, as they are, joined to frames of data (share/doc/wire.md, schema 1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gadgets/io/petsird/time_block_cutter.hpp"
#include "gadgets/io/wire/frame.hpp"

namespace tofstream::wire {

/// The frame at hand, to which blocks are added until it is taken.
class TimeBlockFrame {
 public:
  struct Taken {
    FrameHeader header;            // kind, schema, events and times; the rest is its sender's
    std::vector<std::byte> bytes;  // the payload, behind room for the header
  };

  void add(const petsird::TimeBlockCutter::Block& block);
  /// The frame, and an empty one in its place.
  Taken take();

  bool empty() const { return blocks_ == 0; }
  std::uint64_t events() const { return header_.events; }
  std::size_t bytes() const { return chunk_.size(); }
  /// How long all blocks so far counted events, and when the last of them ended.
  std::uint64_t scanned_ns() const { return scanned_ns_; }
  std::uint64_t end_ns() const { return end_ns_; }

 private:
  FrameHeader header_{.schema = Schema::petsird};
  std::uint64_t blocks_ = 0;
  std::vector<std::byte> chunk_;
  std::uint64_t scanned_ns_ = 0, end_ns_ = 0;
};

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
