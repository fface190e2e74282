// The list-mode projector of blobs (kernels/blob) on both of their lattices (Cui et al. 2011, II.B.5 and 6): a_ij = V
// f(r_ij) G_i(u_ij - t_i) as for the tube of response, whose radial response f is the blob's line integral and whose V
// the volume of space a node. An event's expectation is the sum over both lattices, and its back projection goes to
// both. As the paper does, ToF is taken at the blob's centre: its width must be small beside the ToF response's.
#pragma once

#include <memory>

#include "kernels/project/cuda_path.hpp"
#include "kernels/project/reference.hpp"

namespace tofstream {

struct BlobSettings {
  float tof_cut_sigma = 3;  // the ToF Gaussian is cut here and renormalised
  CudaPath cuda_path = CudaPath::automatic;
  bool deterministic = false;  // EM steps and back projections give the same sums bit for bit, on a GPU and on any
                               // number of threads
};

/// Images are coefficients: the even lattice's, then the odd one's (types/grid.hpp). Throws std::invalid_argument for a
/// grid that has no blobs or is invalid, std::runtime_error for a missing GPU.
std::unique_ptr<ListModeProjector> make_blob_projector(const Grid& grid, const BlobSettings& settings, Backend backend);

/// The same operator in double precision, single-threaded and written for clarity: the oracle of all other versions.
std::unique_ptr<ReferenceProjector> make_blob_reference(const Grid& grid, const BlobSettings& settings);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
