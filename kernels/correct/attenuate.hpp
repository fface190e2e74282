// Attenuation of LORs by their line integrals of mu. Internal to the correction.
#pragma once

#include <cstdint>

#include "kernels/memory/memory.hpp"

namespace tofstream::detail {

/// values[i] *= exp(-integrals[i]); arrays in the given memory, queued on the stream.
void attenuate(float* values, const float* integrals, std::int64_t count, Memory memory, Stream stream);
void attenuate_cuda(float* values, const float* integrals, std::int64_t count, Stream stream);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
