// Discards events and counts them as written, to measure the gadgets before it.
#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {
namespace {

struct NullSink {
  static constexpr bool harmless = true;
  static MemoryNeed memory() { return {}; }
  void process(const EventBatch& batch, Context& context) { context.books().written(batch.event_count()); }
};

TOFSTREAM_GADGET(NullSink, "null_sink", "Counts events and forgets them");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
