// Fills device memory with one number. Internal to images.
#pragma once

#include <cstdint>

#include "kernels/memory/memory.hpp"

namespace tofstream::detail {

/// Complete on return. Throws where there is no CUDA.
void fill_cuda(float* numbers, float value, std::int64_t count, Stream stream);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
