// The launch of kernels that treat each element of an array on its own, one thread an element.
#pragma once

#include <cstdint>

namespace tofstream::elementwise {

inline constexpr int threads = 256;  // of a block

/// Blocks for `count` elements: at most 2^31 - 1, so 5e11 elements.
inline unsigned blocks(std::int64_t count) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

/// The calling thread's element; the last block's may lie past the end.
__device__ inline std::int64_t element() {
  return std::int64_t{blockIdx.x} * threads + threadIdx.x;
}

}  // namespace tofstream::elementwise
// SPDX-License-Identifier: Apache-2.0
