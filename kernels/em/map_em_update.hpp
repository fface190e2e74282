// The update of penalised EM by a separable surrogate (De Pierro, IEEE Trans Med Imaging 14:132, 1995), in place. EM's
// surrogate of the log-likelihood, sum_j e_j log y_j - s_j y_j with e_j = x_j A^T(ratio)_j, and the prior's
// (prior.hpp), sum_j g_j (y_j - x_j) + c_j (y_j - x_j)^2 / 2, have their highest difference where c y^2 + (s + g - c x)
// y - e = 0.
#pragma once

#include "kernels/em/em_update.hpp"

namespace tofstream {

/// A prior at the estimate, in the unit of the sensitivity, as Prior (kernels/prior/prior.hpp) gives it.
struct SurrogateTerm {
  const Image& gradient;
  const Image& curvature;      // majorant_curvature()
  const Image& inverse_whole;  // inverse_sensitivity() of the whole
  float least_ratio = 0;       // no voxel under a penalty becomes less than this times its value
};

/// x_j <- the y >= least_ratio x_j that maximises the surrogate, with e_j A_k^T(ratio)_j / (T_k / T) in place of
/// A^T(ratio) for a subset. With one subset the log-likelihood minus beta U never falls but by rounding. Where g and c
/// are 0 it is em_update, bit for bit. A value that is not finite becomes 0; returns how many did. Throws as em_update
/// does.
std::int64_t map_em_update(Image& estimate, const Image& inverse_sensitivity, const Image& backprojection,
                           double time_fraction, const SurrogateTerm& term, Stream stream = nullptr);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
