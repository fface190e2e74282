// Batches of strips: see strip_events.hpp.
#include "kernels/strip/strip_events.hpp"

#include <algorithm>
#include <utility>

#include "kernels/strip/strip_scanner.hpp"

namespace tofstream {

EventBatch make_strip_batch(std::shared_ptr<const Scanner> scanner, std::int64_t count) {
  const float radius = strip_geometry(*scanner).radius_mm;
  EventBatch batch;
  batch.count = count;
  batch.scanner = std::move(scanner);
  for (auto& end : batch.ends) end = Buffer<float>(Memory::host, count);
  batch.tof_mm = Buffer<float>(Memory::host, count);
  std::ranges::fill(batch.ends[0].span(), 0.0f);
  std::ranges::fill(batch.ends[1].span(), radius);
  std::ranges::fill(batch.ends[3].span(), 0.0f);
  std::ranges::fill(batch.ends[4].span(), -radius);
  return batch;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
