// The sum of logarithms in the likelihood of list-mode EM, for host and device.
#pragma once

#include <cmath>

#include "kernels/math/host_device.hpp"

namespace tofstream {

/// The sum of the logarithms of floats that are positive and finite (expectation.hpp, usable), with one logarithm for
/// every eight: a product of eight floats neither overflows nor underflows a double.
class LogSum {
 public:
  TOFSTREAM_HOST_DEVICE void add(float expectation) {
    product_ *= static_cast<double>(expectation);
    if (++count_ % 8 == 0) flush();
  }
  /// Adds the logarithm of an expectation `times` times.
  TOFSTREAM_HOST_DEVICE void add(float expectation, float times) {
    if (times == 1) return add(expectation);
    sum_ += static_cast<double>(times) * std::log(static_cast<double>(expectation));
  }
  /// How many were added once, modulo 2^32.
  TOFSTREAM_HOST_DEVICE unsigned count() const { return count_; }
  TOFSTREAM_HOST_DEVICE double value() {
    flush();
    return sum_;
  }

 private:
  TOFSTREAM_HOST_DEVICE void flush() {
    sum_ += std::log(product_);
    product_ = 1;
  }
  double product_ = 1, sum_ = 0;
  unsigned count_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
