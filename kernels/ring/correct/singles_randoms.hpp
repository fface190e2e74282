// Rates of random coincidences from the singles that each detector counts, instead of from delayed coincidences.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/ring/correct/randoms.hpp"

namespace tofstream {

/// r_ij = window S_i S_j: where every pair of photons within the window is a coincidence, those of three photons too.
/// `singles_cps`: one rate a detector; `window_s`: 2 tau, all differences of two photons' times that make a
/// coincidence, from end to end. Throws std::invalid_argument for a rate or window that is negative or not finite, or
/// another number of detectors than the scanner's.
RandomsModel randoms_from_singles(const Scanner& scanner, std::span<const double> singles_cps, double window_s);

struct SinglesPromptsRandoms {
  RandomsModel model;
  double unpaired_cps = 0;         // of all detectors
  double isolated = 1;             // share of coincidences near which no further photon came
  std::int64_t below_prompts = 0;  // detectors with fewer singles than their prompts need, whose randoms are 0
};

/// The singles-prompts method of Oliver and Rafecas (Phys Med Biol 55 (2010) 6951; PLoS ONE 11 (2016) e0162096), for
/// scanners that reject coincidences of more than two photons. Of S_i photons a second those of true pairs are not free
/// for a random one; lambda_i are left. Of pairs the share E = exp(-(lambda + S) tau) comes alone, with lambda and S
/// the sums over the scanner. So the prompts P_i that detector i takes part in are E (S_i - lambda_i + 2 tau lambda_i
/// F_i), with F_i the sum of lambda over the detectors in coincidence with i, and
///   lambda_i = (S_i - P_i / E) / (1 - 2 tau F_i)        r_ij = 2 tau E lambda_i lambda_j
/// which is solved by iteration. (The papers have lambda for F_i: all pairs are in coincidence there.) Throws
/// std::invalid_argument as randoms_from_singles does, and std::runtime_error where rates are so high that there is no
/// solution, or where there are fewer singles than prompts.
SinglesPromptsRandoms randoms_from_singles_and_prompts(const Scanner& scanner, std::span<const double> singles_cps,
                                                       std::span<const double> prompts_cps, double window_s);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
