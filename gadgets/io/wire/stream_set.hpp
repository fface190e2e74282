// The streams that come to one receiver: the first, and those of a sender that began again where they go on with its
// scan. Each has an order and a clock of its own; here their times become those of one scan.
#pragma once

#include <cstdint>
#include <vector>

#include "gadgets/io/wire/stream_order.hpp"

namespace tofstream::wire {

class StreamSet {
 public:
  /// Takes note of a frame that decode_frame gave and that came in at `ingress_ns`, since 1970; `begins`: a header of a
  /// stream that is not known begins one.
  Arrival take(const FrameHeader& header, std::uint64_t ingress_ns, bool begins);
  /// See StreamOrder; nothing where this frame's stream is left out.
  void begin_at(const FrameHeader& first);

  bool has_begun() const { return !members_.empty(); }
  bool knows(std::uint64_t stream) const { return find(stream) != nullptr; }
  /// No stream is expected to go on: the last one has ended, and so have those that were sent beside it.
  bool has_ended() const;
  /// Whether frames are missing of a stream that has not been broken off by another.
  bool is_missing_frames() const;
  /// The number of the last that began; 0 where none has.
  std::uint64_t stream() const { return has_begun() ? members_.back().order.stream() : 0; }
  std::size_t size() const { return members_.size(); }

  /// What is to be added to scanner times of a stream that is known, for times of the scan that the first one began: a
  /// whole number of ms. A sender that began again without its old clock is taken to have begun when its first data came
  /// in, and never before the end of the data before.
  std::int64_t shift_ns(std::uint64_t stream) const { return find(stream)->shift_ns; }
  /// Scan time between the streams, of which nothing came.
  std::uint64_t gap_ns() const { return gap_ns_; }
  /// An earlier stream goes on though another has begun: two senders at once.
  bool has_two_at_once() const;

  StreamOrder::Counts counts() const;
  std::uint64_t missing_frames() const;
  std::uint64_t missing_events() const;

 private:
  struct Member {
    StreamOrder order;
    std::uint64_t began_ns;  // ingress of its header
    std::int64_t shift_ns = 0;
    bool has_data = false;
    bool is_beside = false;  // it went on after the next one had begun
  };
  const Member* find(std::uint64_t stream) const;
  Member* find(std::uint64_t stream);
  void note_time(Member& member, const FrameHeader& header, std::uint64_t ingress_ns);

  std::vector<Member> members_;
  std::int64_t first_zero_ns_ = 0;  // when the scan began, since 1970, by the first data
  std::int64_t end_ns_ = 0;         // of the scan so far
  std::uint64_t gap_ns_ = 0;
  std::uint64_t before_header_ = 0, of_others_ = 0;
};

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
