// How the holes of a collimator converge, for host and device.
#pragma once

#include "kernels/math/host_device.hpp"

namespace tofstream {

enum class Beam {
  parallel,
  fan,   // the holes of a row meet in a focal line that is parallel to the axis
  cone,  // all holes meet in a focal point
};

/// Size at depth d (mm before the collimator's face) of what the camera sees as a unit length on its face: along u in
/// a fan, along u and w in a cone. `focal_mm`: from the face to the focus.
template <class T>
TOFSTREAM_HOST_DEVICE inline T beam_scale_u(Beam beam, T focal_mm, T d_mm) {
  return beam == Beam::parallel ? T(1) : (focal_mm - d_mm) / focal_mm;
}
template <class T>
TOFSTREAM_HOST_DEVICE inline T beam_scale_w(Beam beam, T focal_mm, T d_mm) {
  return beam == Beam::cone ? (focal_mm - d_mm) / focal_mm : T(1);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
