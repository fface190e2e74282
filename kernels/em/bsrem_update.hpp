// The relaxed, preconditioned update of BSREM (Ahn and Fessler, IEEE Trans Med Imaging 22:613, 2003), in place: a step
// along the gradient of a subset's share of the log-likelihood minus beta U, times (x + d) / s, to between 0 and a
// bound.
#pragma once

#include <cstdint>

#include "kernels/memory/memory.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

struct BsremBlock {
  const Image& inverse;             // inverse_sensitivity() of the subset
  const Image& inverse_whole;       // of the whole; `inverse` itself where subsets differ in time alone
  const Image& back_projection;     // A_k^T(ratio) of the estimate
  double time_fraction = 1;         // T_k / T of the subset's sensitivity
  const Image* gradient = nullptr;  // beta dU/dx, in the unit of the whole's sensitivity; null: no penalty
};

struct BsremStep {
  double relaxation = 1;  // alpha
  double weight = 1;      // of the subset's share of the data, relative to the mean of all subsets
  double offset = 0;      // d, in the unit of the image
  double bound = 0;       // b: no voxel above b / s; 0: none
  double highest = 0;     // no voxel above it; 0: none
};

/// What an update met.
struct BsremFaults {
  std::int64_t not_finite = 0;  // became 0
  std::int64_t bounded = 0;     // would have gone above the bound
  BsremFaults& operator+=(const BsremFaults& other) {
    not_finite += other.not_finite;
    bounded += other.bounded;
    return *this;
  }
};

/// x_j <- x_j + alpha w_kj (x_j + d) (A_k^T(ratio)_j / s_kj - 1 - g_j / s_j), then to within [0, min(b / s_j,
/// highest)], where s_k is the subset's sensitivity (its sensitivity image times T_k/T) and w_kj = weight *
/// (sensitivity image of the subset / of the whole). A voxel that only the whole sees stays as it is, one that the
/// whole does not see becomes 0. Complete on return. Throws std::invalid_argument for grids or memories that differ,
/// and settings that are negative, not finite or, of relaxation, weight and time fraction, 0.
BsremFaults bsrem_update(Image& estimate, const BsremBlock& block, const BsremStep& step, Stream stream = nullptr);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
