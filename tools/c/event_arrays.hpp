// Events as the caller's arrays, checked.
#pragma once

#include <memory>

#include "kernels/types/events.hpp"
#include "kernels/types/scanner.hpp"
#include "tools/c/tofstream.h"

namespace tofstream::c_api {

/// The scanner that events name, and what an image of them shows; without one a scanner without detectors, and null.
struct RecordedBy {
  std::shared_ptr<const Scanner> scanner;
  std::shared_ptr<const Quantity> quantity;
};

/// `name`: of share/scanners, or a YAML file; null or "": none. Throws what reading it throws.
RecordedBy recorded_by(const char* name);

/// The struct as this library knows it. Throws Wrong for one of another size.
tof_events events_of(const tof_events& given);

/// The arrays, which stay the caller's, in this memory. Throws Wrong for what is missing, not finite, or no detector of
/// the scanner.
EventView view_of(const tof_events& events, const Scanner& scanner, Memory memory);

/// A copy of events in host memory.
EventBatch batch_of(const EventView& events, const RecordedBy& by);

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
