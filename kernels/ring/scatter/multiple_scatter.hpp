// Coincidences with more than one scatter, by Monte Carlo: decays of an image in voxels, whose photons are followed through
// a mu map one Compton scatter after the other (kernels/simulate/photon.hpp) to detectors on a cylinder.
//
// A coincidence between points of the cylinder counts for the lines about its own. With N(s, phi, z_a, z_b) coincidences
// per mm, radian and mm^2, of decays that happen at a rate of 1 per s, a pair of efficiency 1 records
//
//   N sqrt(R^2 - s^2) / (2 R^2) / (W_A W_B / (2 pi d^2))
//
// since ds dphi dz_a dz_b is an area of 2 R^2 / sqrt(R^2 - s^2) times that of both points on the cylinder; W and d as
// single_scatter.hpp has them. These are the units of ScatterEstimate, and nothing is fitted. Scatter of more than one
// order is smoother than that of one, so it is counted at samples farther apart, about each of which what lies within a
// spacing is counted linearly, and is then linear between them.
//
// Left out: coherent scatter, absorption (0.2 % in water), and that crystals stop photons of less energy better.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/memory/memory.hpp"
#include "kernels/ring/scatter/single_scatter.hpp"

namespace tofstream {

struct MultipleScatterSettings {
  int from_order = 2;                        // scatters of both photons together, and more
  double error = 0.1;                        // decays are followed until the relative error is so small
  std::int64_t most_decays = 4'000'000'000;  // or so many have been
  // At a time, and at least eight times as many, whose spread gives the error; 0: as many as suit the backend.
  std::int64_t batch_decays = 0;
  std::uint64_t seed = 1;  // same seed, same decays
  // Farthest that the samples lie apart at which coincidences are counted.
  double radial_mm = 40, axial_mm = 80;
  int angles = 12;
};

struct MultipleScatter {
  ScatterEstimate estimate;
  std::int64_t decays = 0;
  std::int64_t recorded = 0;  // coincidences of from_order, of any weight
  double relative_error = 0;  // RMS standard error of the counted lines (all ToF) / their RMS
};

/// Called after each batch of decays with the fraction done, in [0, 1], as far as it can be told; may throw to end it.
using MultipleScatterProgress = std::function<void(double)>;

/// Of what `activity` emits in `mu_per_mm` (at 511 keV), both in voxels on any grid, on the host, at the samples of
/// `sampling`. The backends follow the same decays in batches of one size, apart from rounding; each gives the same bits whenever it is called.
/// Throws std::invalid_argument, one line, as SingleScatter does, and for settings that are not positive.
MultipleScatter multiple_scatter(const Image& activity, const Image& mu_per_mm, const ScatterDetectors& detectors,
                                 const ScatterSampling& sampling, const MultipleScatterSettings& settings = {},
                                 Backend backend = Backend::cpu, const MultipleScatterProgress& progress = {});

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
