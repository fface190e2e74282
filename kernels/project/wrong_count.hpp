// Counts that nothing can have counted.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/math/host_device.hpp"
#include "kernels/memory/memory.hpp"

namespace tofstream {

TOFSTREAM_HOST_DEVICE inline bool is_count(float value) {
  return value >= 0 && value <= 3.4e38f;  // no NaN, no infinity
}

/// The place of the first of `count` numbers that is negative or not finite; -1 where there is none. They lie in the
/// backend's memory. Complete on return.
std::int64_t first_wrong_count(const float* counts, std::int64_t count, Backend backend, Stream stream = nullptr);

namespace detail {
/// Throws where there is no CUDA.
std::int64_t first_wrong_count_cuda(const float* counts, std::int64_t count, Stream stream);
}  // namespace detail

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
