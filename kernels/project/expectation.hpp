// Which expectations list-mode EM divides by: shared by the reference, the CPU and CUDA, so that all skip the same
// events.
#pragma once

#include <cfloat>

#include "kernels/math/host_device.hpp"

namespace tofstream {

/// True where 1/expectation is a finite, positive float. A NaN, infinite, negative or vanishing
/// expectation is not usable: its event is skipped and counted (conventions.md, list-mode EM).
template <class T>
TOFSTREAM_HOST_DEVICE inline bool usable(T expectation) {
  return expectation >= T(FLT_MIN) && expectation <= T(FLT_MAX);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
