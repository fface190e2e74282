// How a dynamic scan is cut into frames. One frame is open at a time, from the first one on.
#pragma once

#include <optional>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {

class FrameCut {
 public:
  virtual ~FrameCut() = default;

  /// The pieces of the next batch, none of which lies in two frames.
  virtual std::vector<EventBatch> cut(EventBatch batch, Context& context) = 0;
  /// Whether the open frame ends before this piece.
  virtual bool ends_before(const EventBatch& piece) const = 0;
  /// Takes a piece before which the open frame does not end into it; false: it is of no frame.
  virtual bool takes(const EventBatch& piece) = 0;
  /// The open frame has ended: the next one is open.
  virtual ScanFrame next() = 0;
  /// The scan has ended: the open frame with the time that there is, or nothing where it has no events. Says what the
  /// scan did not fill.
  virtual std::optional<ScanFrame> finish(bool has_events, Context& context) = 0;
  /// So far, or in all where this is known.
  virtual int frames() const = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
