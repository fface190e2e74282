// The CUDA side of the separable Gaussian. Internal to the filter.
#pragma once

#include "kernels/memory/memory.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream::detail {

/// Blurs a device image in place along each axis whose weights are more than one; `scratch` is an
/// image of the same size. Queued on the stream.
void blur_cuda(float* image, float* scratch, const Grid& grid, const Buffer<float> (&weights)[3], Stream stream);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
