// Cuts a PETSIRD stream into its header and its time blocks, as the bytes that they are, as it arrives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gadgets/io/petsird/decoder.hpp"

namespace tofstream::petsird {

class TimeBlockCutter : private Handler {
 public:
  struct Block {
    std::span<const std::byte> bytes;  // as they stand in the stream, without the count of the chunk before them
    std::uint64_t events = 0;          // prompts and delayeds, those that are to be rejected too
    BlockKind kind = BlockKind::event;
    TimeInterval interval;
  };
  /// `on_header` is given the stream up to the end of its header, then `on_block` each time block; the bytes live until
  /// return. `on_warning` gets what is odd but readable, in one line.
  struct Receiver {
    std::function<void(std::span<const std::byte>)> on_header;
    std::function<void(const Block&)> on_block;
    std::function<void(std::string_view)> on_warning;
  };
  explicit TimeBlockCutter(Receiver receiver) : receiver_(std::move(receiver)), decoder_(*this) {}
  TimeBlockCutter(const TimeBlockCutter&) = delete;
  TimeBlockCutter& operator=(const TimeBlockCutter&) = delete;

  /// Throws Error, as the Decoder does, on bad data.
  void push(std::span<const std::byte> bytes);
  void finish() { decoder_.finish(); }

 private:
  void on_header(Header&&) override { receiver_.on_header(taken()); }
  void on_block_begin(BlockKind kind, TimeInterval interval) override;
  void on_block_end(BlockKind kind) override;
  void on_warning(std::string_view text) override { receiver_.on_warning(text); }
  std::span<const std::byte> taken();

  const Receiver receiver_;
  Decoder decoder_;
  std::vector<std::byte> held_;      // of the stream, from the end of what was cut off before the push
  std::uint64_t held_begin_ = 0;     // its place in the stream
  std::uint64_t cut_ = 0;            // the stream's bytes that were cut off
  std::uint64_t blocks_left_ = 0;    // in the chunk at hand
  std::uint64_t events_before_ = 0;  // the block at hand
  TimeInterval interval_;
};

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
