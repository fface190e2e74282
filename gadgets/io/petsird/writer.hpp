// Writes a PETSIRD binary stream that the standard's own tools read: header, then time blocks, to
// any sink of bytes. Nothing but a buffer of some 64 KiB is held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "gadgets/io/petsird/header.hpp"
#include "gadgets/io/petsird/schema.hpp"
#include "gadgets/io/petsird/time_blocks.hpp"

namespace tofstream::petsird {

using ByteSink = std::function<void(std::span<const std::byte>)>;

/// The lists of one time block: at pair_index({type1, type2}) those of the types type2 <= type1. A
/// list that is missing at the end counts as empty.
using EventLists = std::vector<std::span<const CoincidenceEvent>>;

class Writer {
 public:
  /// Writes the preface and the header. Throws Error if the header does not fit together
  /// (header_check.hpp) or the version is not HEAD or v0.10.0; what the sink throws passes through.
  Writer(ByteSink sink, Header header, Version version = Version::head);
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();

  /// Writes one block of events, those of a list in the order given. Within a pair of equal types
  /// the larger bin must come first: other events are turned over, their ToF bin with them. Throws
  /// Error for an event out of its types' bins, and for lists whose policy in the header is 'none'.
  void write_events(TimeInterval interval, const EventLists& prompts, const EventLists& delayeds = {});
  /// Writes a block of another kind.
  void write_block(const OtherBlock& block);
  /// Hands what is in the buffer to the sink, for a live stream.
  void flush();
  /// Writes the end mark and flushes; without it the stream is cut short.
  void finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
