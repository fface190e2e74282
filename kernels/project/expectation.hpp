// Which expectations list-mode EM divides by, and the sum of their logarithms: shared by the
// reference, the CPU and CUDA, so that all skip the same events.
#pragma once

#include <cfloat>
#include <cmath>

#include "kernels/math/host_device.hpp"

namespace tofstream {

/// True where 1/expectation is a finite, positive float. A NaN, infinite, negative or vanishing
/// expectation is not usable: its event is skipped and counted (conventions.md, list-mode EM).
template <class T>
TOFSTREAM_HOST_DEVICE inline bool usable(T expectation) {
  return expectation >= T(FLT_MIN) && expectation <= T(FLT_MAX);
}

/// The sum of logarithms of usable expectations, with one logarithm for every eight: a product of
/// eight floats neither overflows nor underflows a double.
class LogSum {
 public:
  void add(float expectation) {
    product_ *= static_cast<double>(expectation);
    if (++factors_ == 8) flush();
  }
  double value() {
    flush();
    return sum_;
  }

 private:
  void flush() {
    sum_ += std::log(product_);
    product_ = 1;
    factors_ = 0;
  }
  double product_ = 1, sum_ = 0;
  int factors_ = 0;
};

}  // namespace tofstream
