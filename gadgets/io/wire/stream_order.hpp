// Which frames of a stream have come: gaps, frames that come late, duplicates, by the rules of share/doc/wire.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "gadgets/io/wire/frame.hpp"

namespace tofstream::wire {

/// What a frame is to the frames before it.
enum class Arrival {
  wanted,         // new: its content counts
  header_again,   // the stream header, which is known
  duplicate,      // its number has been there
  before_header,  // nothing is known of its stream yet
  other_stream,   // of another stream than the one that the first header began
};

class StreamOrder {
 public:
  struct Counts {
    std::uint64_t frames = 0;  // wanted, of data and the end
    std::uint64_t events = 0;  // in them
    std::uint64_t late = 0;    // wanted, but behind a frame that was sent later
    std::uint64_t duplicates = 0;
    std::uint64_t before_header = 0;
    std::uint64_t of_other_streams = 0;
  };

  /// Takes note of a frame that decode_frame gave.
  Arrival take(const FrameHeader& header);
  /// The stream is taken from this frame of data on: those before it, by number, are no gap, and duplicates where they
  /// come. Behind the header, before any data.
  void begin_at(const FrameHeader& first);

  bool has_begun() const { return stream_.has_value(); }
  bool has_ended() const { return has_ended_; }
  std::uint64_t stream() const { return stream_.value_or(0); }
  const Counts& counts() const { return counts_; }
  /// Frames that were sent, by the numbers of those that came, and are not there.
  std::uint64_t missing_frames() const;
  /// Events in them, by what later frames say: 0 where the numbers contradict each other.
  std::uint64_t missing_events() const;

 private:
  bool fill_gap(std::uint64_t sequence);
  void add_gap(std::uint64_t begin, std::uint64_t end);

  std::optional<std::uint64_t> stream_;
  std::uint64_t next_ = 1;
  std::uint64_t left_out_events_ = 0;            // before the frame that was begun at
  std::map<std::uint64_t, std::uint64_t> gaps_;  // begin to end of sequence numbers that have not come
  std::uint64_t given_up_ = 0;                   // frames of gaps that are no longer kept
  std::uint64_t events_sent_ = 0;                // as far as is known
  bool has_ended_ = false;
  Counts counts_;
};

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
