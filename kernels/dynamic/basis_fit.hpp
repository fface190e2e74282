// Frames of a dynamic scan as sums of functions of time, C(t) = sum_m theta_m B_m(t), by weighted least squares. With
// int_0^t C_p and C_p for functions this is Patlak's plot (Patlak, Blasberg and Fenstermacher 1983): where a tracer that
// is trapped has come to equilibrium with plasma, theta are K_i, the rate of uptake, and V, the volume of distribution.
#pragma once

#include <vector>

namespace tofstream {

/// A frame: the mean of each function over it, and the weight of its value, which is one over its variance.
struct BasisFrame {
  std::vector<double> functions;
  double weight = 1;
};

/// The coefficients as weighted sums of a voxel's frames: theta_m = sum_f result[m][f] C_f. Throws
/// std::invalid_argument for fewer frames than functions, and frames that do not tell the functions apart.
std::vector<std::vector<double>> basis_fit(const std::vector<BasisFrame>& frames);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
