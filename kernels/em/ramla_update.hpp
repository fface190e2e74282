// The additive, relaxed update of RAMLA (Browne and De Pierro, IEEE Trans Med Imaging 15:687, 1996), by blocks as
// DIRECT takes it (Matej et al. 2009), in place: x <- x + l x (A_k^T(ratio) - s_k), with s_k = s T_k / T for subsets ordered
// in time.
#pragma once

#include <cstdint>

#include "kernels/memory/memory.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

struct RamlaBlock {
  const Image& sensitivity;      // times the time fraction: s_k
  const Image& inverse;          // inverse_sensitivity() of it: says which voxels there are, and which it leaves
  const Image& back_projection;  // A_k^T(ratio) of the estimate
  float largest_sensitivity;     // largest_sensitivity() of it, which does not change from one pass to the next
  double time_fraction = 1;
};

/// With l = relaxation / max_j s_kj, voxel by voxel and in the memory in which all images lie; complete on return.
/// relaxation in (0, 1]: no voxel becomes negative. A voxel with an inverse of 0 becomes 0; one that only the whole
/// sees stays as it is. A value that is not finite becomes 0; returns how many did. Throws std::invalid_argument for
/// a relaxation out of range, grids or memories that differ, or a time fraction or a largest sensitivity that is not
/// finite and positive.
std::int64_t ramla_update(Image& estimate, const RamlaBlock& block, double relaxation, Stream stream = nullptr);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
