// Batches of what strips measured: free ends on the strips, and dl / 2 as ToF (strip.hpp).
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/strip/geometry.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

/// A batch on the host with room for `count` events of the scanner's strips, each of which set_response is to set.
/// Throws std::invalid_argument where the scanner is no pair of strips.
EventBatch make_strip_batch(std::shared_ptr<const Scanner> scanner, std::int64_t count);

/// Sets event i of such a batch. Different events may be set by different threads.
inline void set_response(EventBatch& batch, std::int64_t i, const StripResponse<float>& response) {
  batch.ends[2][i] = response.z_up_mm;
  batch.ends[5][i] = response.z_down_mm;
  batch.tof_mm[i] = 0.5f * response.dl_mm;
}

/// False for what strips cannot have measured, whatever their resolution: not finite, or beyond a strip's end by more
/// than 100 mm, or with a difference of paths that exceeds the way between the two points by more than 400 mm: ten
/// times the resolution of Bialas et al. 2015.
inline bool is_measurable(const StripGeometry& strips, const StripResponse<float>& r) {
  constexpr float beyond_ends_mm = 100, beyond_way_mm = 400;
  const float reach = 0.5f * strips.length_mm + beyond_ends_mm;
  const float way = std::hypot(r.z_up_mm - r.z_down_mm, 2 * strips.radius_mm);
  return std::abs(r.z_up_mm) <= reach && std::abs(r.z_down_mm) <= reach && std::abs(r.dl_mm) <= way + beyond_way_mm;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
