// Data cut into equal parts, one behind the other, for those who share the work on them.
#pragma once

#include <cstdint>

#include "kernels/types/events.hpp"
#include "kernels/types/views.hpp"

namespace tofstream {

/// Which of how many parts.
struct Part {
  int index = 0, parts = 1;

  bool is_whole() const { return parts == 1; }
  /// The number of its first datum among `count`.
  std::int64_t first(std::int64_t count) const { return count * index / parts; }
  std::int64_t size(std::int64_t count) const { return count * (index + 1) / parts - first(count); }
};

/// The part's events or, of views, whole views: no copy.
EventView part_of(const EventView& events, Part part);
Views part_of(const Views& views, Part part);

/// A copy of the part in the given memory, of the current device, queued on the stream. It says of itself what the
/// whole says; the ranks of its events' arrival and where its axes begin are left out.
EventBatch part_of(const EventBatch& events, Part part, Memory memory, Stream stream = nullptr);
ViewBatch part_of(const ViewBatch& views, Part part, Memory memory, Stream stream = nullptr);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
