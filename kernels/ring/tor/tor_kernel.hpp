// The CPU's TOR projection of a range of events, compiled for every SIMD instruction set and chosen
// at run time. Images are packed by SliceLayout.
#pragma once

#include <memory>
#include <vector>

#include "kernels/project/cpu_projector.hpp"
#include "kernels/ring/tor/slice_layout.hpp"
#include "kernels/ring/tor/tof_profile.hpp"
#include "kernels/ring/tor/tor_model.hpp"

namespace tofstream::tor {

/// A lattice of the image, packed from `offset` on.
struct CpuLattice {
  Model model;
  SliceLayout layout;
  std::int64_t offset = 0;
};

struct CpuSetup {
  std::vector<CpuLattice> lattices;  // one of voxels, or two of blobs
  std::vector<float> table;          // RadialResponse::values()
  std::shared_ptr<TofPieceCache> tof_pieces = std::make_shared<TofPieceCache>();
};

std::unique_ptr<const CpuKernel> make_kernel(const CpuSetup& setup);

}  // namespace tofstream::tor
// SPDX-License-Identifier: Apache-2.0
