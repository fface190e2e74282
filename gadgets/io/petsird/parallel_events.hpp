// Coincidence events decoded on all cores, while the caller reads on.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <span>

#include <tbb/task_group.h>

#include "gadgets/io/petsird/event_codec.hpp"

namespace tofstream::petsird {

/// Bytes from which on several cores are worth it.
inline constexpr std::size_t parallel_bytes = std::size_t{1} << 16;

class ParallelEvents {
 public:
  ParallelEvents() = default;
  ParallelEvents(const ParallelEvents&) = delete;
  ParallelEvents& operator=(const ParallelEvents&) = delete;
  ~ParallelEvents() noexcept;

  /// Begins to decode a stretch of at most `most` events from the front of `bytes`, which must stay where they are
  /// until wait() has returned, and takes the stretch's bytes away. Returns how many events it has: those near the end
  /// of `bytes` are left.
  std::size_t begin(std::span<const std::byte>& bytes, std::size_t most, const EventLimits& limits, PutEvents put);

  /// An event that cannot be decoded: in which stretch, of those that began since the last wait(), the event's number
  /// in it, and the bytes from that event on.
  struct Failure {
    std::size_t stretch = 0, event = 0;
    std::span<const std::byte> bytes;
  };
  /// Waits until all that began is decoded; returns the first event that cannot be, if any. Rethrows what `put` threw.
  std::optional<Failure> wait();

 private:
  struct Stretch {
    std::size_t number = 0;
    std::span<const std::byte> bytes;  // also those behind it
    EventLimits limits;
    PutEvents put;
  };

  void decode(const Stretch& stretch, std::size_t begin, std::size_t first, std::size_t count);
  void note(const Failure& failure);

  tbb::task_group tasks_;
  std::deque<Stretch> stretches_;  // stay where they are
  std::mutex mutex_;
  std::optional<Failure> first_failure_;
};

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
