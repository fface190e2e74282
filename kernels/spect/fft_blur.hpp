// The point spread in Fourier space: a transform for each plane, one inverse for their sum; back the other way round.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "kernels/spect/plane_blur.hpp"

namespace tofstream {

/// `kernels` by radius and plane; `mirrored`: A^T is the exact transpose. Both must outlive the result.
std::unique_ptr<PlaneBlur> make_fft_blur(const BlurLayout& layout,
                                         const std::map<double, std::vector<PlaneKernel>>& kernels, bool mirrored);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
