// Blobs: Kaiser-Bessel windows of order 2 on a body-centred cubic lattice (types/grid.hpp). R. M. Lewitt,
// Multidimensional digital image representations using generalized Kaiser-Bessel window functions, J Opt Soc Am A
// 7:1834-1846, 1990; S. Matej and R. M. Lewitt, Practical considerations for 3-D image reconstruction using spherically
// symmetric volume elements, IEEE Trans Med Imaging 15:68-78, 1996.
//
// A blob's coefficient is a density: the blob about a node is V k(r), with k of unit integral over space and V the
// volume of space a node, half a cube of the lattice's edge. So equal coefficients are a uniform density of that value.
#pragma once

#include "kernels/types/grid.hpp"

namespace tofstream {

/// The radius of blobs on lattices of this edge for which equal coefficients give the most uniform density. The first
/// zero of the blob's Fourier transform, at 2 pi radius f = sqrt(alpha^2 + j^2) with j the first zero of the Bessel
/// function J_7/2, is put on the lattice's lowest spatial frequencies but 0, f = sqrt(2) / edge. For alpha 8.37 the
/// radius is 1.227 edges, for 10.4 it is 1.410. Throws std::invalid_argument for an edge or alpha that is not positive.
float uniform_blob_radius_mm(float edge_mm, float alpha);

/// A blob's value at distance r (mm) from its centre for a coefficient of 1, on lattices of this edge.
class BlobProfile {
 public:
  BlobProfile(const Blob& blob, float edge_mm);
  double operator()(double r_mm) const;

 private:
  double radius_, alpha_, scale_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
