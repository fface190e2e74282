// Constants that the reference, the CPU and CUDA share for Edge::clipped.
#pragma once

namespace tofstream {

/// Sigmas beyond which a Gaussian that is not cut vanishes in double precision.
inline constexpr float joseph_no_cut = 100;
/// Planes farther than this from plane 0 do not enter the sum that rescales a ToF bin.
inline constexpr double joseph_plane_limit = 1e6;

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
