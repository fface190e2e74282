// The point spread of each plane of a lattice, as discrete kernels in columns and rows.
#pragma once

#include <vector>

#include "kernels/spect/lattice.hpp"

namespace tofstream {

/// Two halves of a separable kernel: weights of the centre and of what is 1, 2, ... columns or rows from it.
struct SeparableKernel {
  std::vector<float> u = {1.0f}, w = {1.0f};
};

/// values[(w + along / 2) * across + u + across / 2] is the response u columns and w rows from the source.
struct PlaneKernel {
  int across = 1, along = 1;  // odd
  std::vector<float> values = {1.0f};
};

/// What a Gaussian's weights may leave out (gaussian_weights): incremental and separable forms then agree to 1e-5.
inline constexpr double psf_tail = 1e-7;

/// For each plane the kernel of a Gaussian, or of none, at this radius; planes that are not the image's, or lie
/// behind the collimator's face, have the unit kernel.
std::vector<SeparableKernel> separable_kernels(const ViewLattice& lattice, const SpectSettings& settings,
                                               double radius_mm);

/// For each plane by what a Gaussian is wider than in the plane before, and for the first one what it is: with a slope
/// that is not negative a Gaussian never narrows, and a converging beam widens it more.
std::vector<SeparableKernel> incremental_kernels(const ViewLattice& lattice, const SpectSettings& settings,
                                                 double radius_mm);

/// For each plane the kernel of any model in two dimensions.
std::vector<PlaneKernel> plane_kernels(const ViewLattice& lattice, const SpectSettings& settings, double radius_mm);

/// How many columns and rows from its source a view's widest kernel reaches.
struct KernelReach {
  int u = 0, w = 0;
};
KernelReach reach_of(const std::vector<SeparableKernel>& kernels);
KernelReach widest_reach(const ViewLattice& lattice, const SpectSettings& settings, double radius_mm);

/// Different radii of a set's views, ascending.
std::vector<double> radii_of(const ViewSet& set);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
