// The math that SIMD lanes and CUDA share: ToF bins in single precision against TofKernel in double.
#include "kernels/math/tof_bin-inl.hpp"

namespace tofstream {

TEST_CASE("The ToF bin integral in single precision equals the one in double") {
  for (const float cut : {2.0f, 3.0f, 100.0f}) {
    for (const float width : {0.1f, 1.0f, 10.0f, 40.0f, 41.0f, 80.0f, 300.0f}) {
      const float sigma = 40;
      const auto bin = single_lane::TofBin::make(TofKernel<float>::make(sigma, cut), width);
      const auto exact = TofKernel<double>::make(40, static_cast<double>(cut));
      const double peak = exact.bin_integral(0, static_cast<double>(width));
      double error = 0;
      for (float offset = -330; offset <= 330; offset += 0.37f)
        error = std::max(error, std::abs(static_cast<double>(single_lane::bin_integral<float>(bin, offset / sigma)) -
                                         exact.bin_integral(static_cast<double>(offset), static_cast<double>(width))));
      CAPTURE(cut);
      CAPTURE(width);
      CHECK(error < 3e-6 * peak);
    }
  }
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
