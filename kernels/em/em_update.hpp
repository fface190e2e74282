// The EM image update of list-mode MLEM and OSEM (Cui et al. 2011, eq. 1; conventions.md, list-mode EM), in place:
// x <- x / s_k * A_k^T(ratio), with s_k = s T_k / T for subsets ordered in time.
#pragma once

#include <cstdint>

#include "kernels/memory/memory.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

/// Voxels whose sensitivity is below this fraction of its maximum are not reconstructed (1/s = 0).
inline constexpr float default_sensitivity_fraction = 1e-3f;

/// The largest value of a sensitivity, in whatever memory it lies. Throws std::invalid_argument unless it is positive and
/// every voxel finite.
float largest_sensitivity(const Image& sensitivity, Stream stream = nullptr);

/// 1/s where s >= fraction * max(s) and positive, else 0, in the memory of `sensitivity`; complete
/// on return. Throws std::invalid_argument unless fraction is in [0, 1), the maximum positive and
/// every voxel finite.
Image inverse_sensitivity(const Image& sensitivity, float fraction = default_sensitivity_fraction,
                          Stream stream = nullptr);

/// 1/s for a subset that sees the image differently than the whole does, such as some of a camera's views. The result
/// is 1/s of the subset where its s is at least the fraction of the whole's s in the same voxel; 0 where the whole's s
/// is below the fraction of its maximum, so that there is no image; and a value that leaves the estimate unchanged
/// where the whole sees a voxel and this subset does not. Throws as above, also for grids or memories that differ.
Image inverse_sensitivity(const Image& subset, const Image& whole, float fraction = default_sensitivity_fraction,
                          Stream stream = nullptr);

/// estimate <- estimate * inverse_sensitivity * backprojection / time_fraction, voxel by voxel, in the memory in which
/// all three images lie; complete on return. `time_fraction` = T_k / T, the (decay-weighted) share of the scan's time
/// that this subset stands for. A product that is not finite becomes 0; returns how many did, so that it does not go
/// unnoticed. Throws std::invalid_argument for grids or memories that differ or a time fraction that is not finite and
/// positive.
std::int64_t em_update(Image& estimate, const Image& inverse_sensitivity, const Image& backprojection,
                       double time_fraction, Stream stream = nullptr);

/// A penalty as an update takes it.
struct PenaltyTerm {
  const Image& gradient;       // beta dU/dx at the estimate, in the unit of the sensitivity
  const Image& inverse_whole;  // inverse_sensitivity() of the whole
};

/// Voxels that an update could not simply multiply.
struct UpdateFaults {
  std::int64_t not_finite = 0;  // they became 0
  std::int64_t limited = 0;     // the penalty would have left less than a tenth of their sensitivity
  UpdateFaults& operator+=(const UpdateFaults& other) {
    not_finite += other.not_finite;
    limited += other.limited;
    return *this;
  }
};

/// As em_update, one step late (Green 1990): x_j <- x_j / (s_kj (1 + g_j / s_j)) * A_k^T(ratio)_j, with g the gradient
/// of the penalty at x. Each subset has as much of the penalty as of the sensitivity, all of them s + g. Where 1 + g/s
/// is below a tenth, a tenth is taken, so that no voxel becomes negative or infinite. Throws as em_update does.
UpdateFaults penalised_em_update(Image& estimate, const Image& inverse_sensitivity, const Image& backprojection,
                                 double time_fraction, const PenaltyTerm& penalty, Stream stream = nullptr);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
