// Bytes and events can be put on disk where an edge spills.
#pragma once

#include "core/gadget/payload.hpp"

namespace tofstream {

struct ByteBlock;
struct EventBatch;

template <>
struct Spill<ByteBlock> {
  static void encode(const ByteBlock& block, SpillWriter& to);
  static ByteBlock decode(SpillReader& from);
};

template <>
struct Spill<EventBatch> {
  static void encode(const EventBatch& batch, SpillWriter& to);
  static EventBatch decode(SpillReader& from);

 private:
  static void encode_copy(const EventBatch& batch, SpillWriter& to);
};

}  // namespace tofstream
