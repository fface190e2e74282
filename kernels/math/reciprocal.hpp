// Division in double precision for code that prepares lines. On a GPU a division is a call with a slow path for
// denormals and overflow, which no line of a scanner needs, and takes most of the time of preparing one.
#pragma once

#include "kernels/math/host_device.hpp"

namespace tofstream {

/// 1 / x to within a unit in the last place, for |x| in [1e-300, 1e300]; not finite for 0.
TOFSTREAM_HOST_DEVICE inline double reciprocal(double x) {
#ifdef __CUDA_ARCH__
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
  // Each of Newton's steps doubles the 20 bits and more that the approximation has.
  r = fma(r, fma(-x, r, 1.0), r);
  return fma(r, fma(-x, r, 1.0), r);
#else
  return 1 / x;
#endif
}

/// x / y to within a unit in the last place, exact where the quotient is a whole number. `per_y` is 1 / y.
TOFSTREAM_HOST_DEVICE inline double quotient(double x, double y, [[maybe_unused]] double per_y) {
#ifdef __CUDA_ARCH__
  const double q = x * per_y;
  return fma(fma(-q, y, x), per_y, q);
#else
  return x / y;
#endif
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
