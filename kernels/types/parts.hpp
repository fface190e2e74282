// Data cut into parts, one behind the other, for those who share the work on them.
#pragma once

#include <cstdint>

#include "kernels/types/events.hpp"
#include "kernels/types/views.hpp"

namespace tofstream {

/// Which of how many parts.
struct Part {
  int index = 0, parts = 1;

  /// The number of its first datum among `count`.
  std::int64_t first(std::int64_t count) const { return count * index / parts; }
  std::int64_t size(std::int64_t count) const { return count * (index + 1) / parts - first(count); }
};

/// Some of a batch's events or views, that follow one another.
struct Range {
  std::int64_t first = 0, size = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

/// What a batch has that can be told apart: events, views.
inline std::int64_t range_size(const EventBatch& events) {
  return events.count;
}
inline std::int64_t range_size(const ViewBatch& views) {
  return static_cast<std::int64_t>(views.records.size());
}

/// The range's events or views: no copy.
EventView range_of(const EventView& events, Range range);
Views range_of(const Views& views, Range range);

/// A copy of the range in the given memory, of the current device, queued on the stream. It says of itself what the
/// whole says; the ranks of its events' arrival and where its axes begin are left out.
EventBatch range_of(const EventBatch& events, Range range, Memory memory, Stream stream = nullptr);
ViewBatch range_of(const ViewBatch& views, Range range, Memory memory, Stream stream = nullptr);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
