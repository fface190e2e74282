// The EM ratio of one pixel of a view, for host and device.
#pragma once

#include <cmath>

#include "kernels/math/host_device.hpp"
#include "kernels/project/expectation.hpp"
#include "kernels/types/views.hpp"

namespace tofstream {

/// w m of a pixel of the view with this place in the batch.
TOFSTREAM_HOST_DEVICE inline float efficiency_of_pixel(const Views& views, int view, std::int64_t pixel) {
  const float weight = views.weight ? views.weight[view] : 1.0f;
  return views.multiplicative ? weight * views.multiplicative[pixel] : weight;
}

/// What EM makes of a pixel. y log(expectation) is counted log(expectation), which is 0 where nothing is counted.
struct PixelRatio {
  float ratio = 0;    // w m y / (w m A x + b); 0 without a usable expectation
  float skipped = 0;  // counts of a pixel without one
  float counted = 0;  // and those of the others
  float expectation = 1;
};

/// For A x = `projected`.
TOFSTREAM_HOST_DEVICE inline PixelRatio ratio_of_pixel(const Views& views, int view, std::int64_t pixel,
                                                       float projected) {
  const float efficiency = efficiency_of_pixel(views, view, pixel), y = views.counts[pixel];
  const float expectation = efficiency * projected + (views.additive ? views.additive[pixel] : 0.0f);
  if (!usable(expectation)) return {0, y > 0 ? y : 0.0f, 0, 1};
  return {efficiency * y / expectation, 0, y, y != 0 ? expectation : 1.0f};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
