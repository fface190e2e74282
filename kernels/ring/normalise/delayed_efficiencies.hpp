// Crystals' efficiencies from delayed coincidences alone, of a scan whose source is not known. Delayeds give each
// crystal's rate of singles S_i (randoms.hpp), which is its efficiency times the photons that reach it:
//   S_i = e_i F(azimuth_i, z_i)
// Around a patient the flux F changes slowly from crystal to crystal, efficiencies do not. ln F is a sum of products of
// a Fourier series in azimuth and Legendre polynomials in z, whose coefficients are those for which e has the mean 1
// against each of them: sum_i b_k(i) (S_i / F_i - 1) = 0 (the likelihood equations of a gamma distribution with F as
// its mean; McCullagh and Nelder, Generalized Linear Models, 1989, chapter 8).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/ring/correct/randoms.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

struct FluxOrders {
  int azimuth = 6;  // of the Fourier series
  int axial = 4;    // of the polynomials; fewer where there are few rings of crystals
};

struct DelayedEfficiencies {
  std::vector<float> efficiency;                 // of mean 1; 0 for dead and hot crystals, 1 for those not seen
  std::vector<float> error;                      // relative standard error, 1 / sqrt(delayeds of the crystal); 0: none
  std::vector<double> counted;                   // delayeds that each crystal took part in
  std::vector<std::uint32_t> dead, hot, unseen;  // as in NormalisationEstimate
  double flux_ratio = 1;                         // the largest over the least flux
  double module_spread = 0;                      // of modules' mean efficiencies beyond counting errors (RMS)
};

/// Throws std::invalid_argument for orders that are negative, std::runtime_error, one line, where delayeds are too few
/// (fewer crystals with 10 of them than ten times the coefficients), where crystals lie in too few different places for
/// the orders, and where the flux is not found.
DelayedEfficiencies efficiencies_from_delayeds(const Scanner& scanner, const DelayedCounts& delayeds,
                                               const FluxOrders& orders = {});

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
