// The sensitivity of two strips in closed form (Bialas et al. 2015, eq. 4).
#pragma once

#include <vector>

#include "kernels/math/host_device.hpp"
#include "kernels/strip/geometry.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

/// The probability that both photons of a decay at (y, z) in the strips' plane, emitted in that plane, meet the strips.
template <class T>
TOFSTREAM_HOST_DEVICE inline T strip_sensitivity(const StripGeometry& strips, T y_mm, T z_mm) {
  const StripAngles<T> angles = strip_angles(strips, y_mm, z_mm);
  return (angles.high - angles.low) * T(0.31830988618379067);
}

/// The angles of strip_angles at the centres of the pixels of `grid`, which has one along x, in the image's order.
std::vector<StripAngles<float>> strip_pixel_angles(const StripGeometry& strips, const Grid& grid);

/// The sensitivity at the centres of the pixels of `grid`, which has one along x; in host memory.
Image strip_sensitivity_image(const StripGeometry& strips, const Grid& grid);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
