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

/// w m y / (w m A x + b) for A x = `projected`. Adds the counts of a pixel without a usable expectation to `skipped`,
/// and y log(expectation) of the others to `log_sum`.
TOFSTREAM_HOST_DEVICE inline float ratio_of_pixel(const Views& views, int view, std::int64_t pixel, float projected,
                                                  double& skipped, double& log_sum) {
  const float efficiency = efficiency_of_pixel(views, view, pixel), y = views.counts[pixel];
  const float expectation = efficiency * projected + (views.additive ? views.additive[pixel] : 0.0f);
  if (!usable(expectation)) {
    if (y > 0) skipped += static_cast<double>(y);
    return 0;
  }
  if (y != 0) log_sum += static_cast<double>(y) * std::log(static_cast<double>(expectation));
  return efficiency * y / expectation;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
