// How deep in a crystal photons interact on average.
#pragma once

#include <cmath>

namespace tofstream {

/// Mean depth below the face at which photons interact in a crystal of `depth`, averaged over the photons that come
/// along its depth and interact in it: the mean of an exponential cut to [0, depth], 1/mu - depth / (exp(mu depth) -
/// 1), with mu the attenuation per unit of `depth`. What photons have crossed before does not change it: in a layer it
/// counts from the layer's own face. Photons at cosine c to the depth interact less deep: theirs is that of mu / c.
inline double mean_interaction_depth(double depth, double attenuation) {
  const double x = attenuation * depth;
  constexpr double small = 1e-2;  // below, the difference of two large numbers; the series' next term is x^5 / 30240
  const double share = x < small ? 0.5 - x / 12 + x * x * x / 720 : 1 / x - 1 / std::expm1(x);
  return depth * share;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
