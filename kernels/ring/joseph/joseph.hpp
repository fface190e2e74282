// Joseph's projector: bilinear interpolation in the planes across the line's dominant axis, non-ToF
// or ToF. Our edge rule (conventions.md, Joseph's line projector): full bilinear support, planes between the LOR's
// ends, dominant axis by mm (y before z before x where equal), ToF integrated over the bin. An LOR without length or
// with an end or ToF that is not finite touches nothing.
#pragma once

#include <memory>

#include "kernels/project/cuda_path.hpp"
#include "kernels/project/reference.hpp"

namespace tofstream {

struct JosephSettings {
  enum class Edge {
    full,     // a line just outside a side face still touches the border voxels
    clipped,  // libparallelproj's rule: planes whose crossing lies outside the side faces are
              // dropped, ToF bins rescaled
  };
  Edge edge = Edge::full;
  float tof_cut_sigma = 3;  // the ToF Gaussian is cut here and renormalised
  CudaPath cuda_path = CudaPath::automatic;
  bool deterministic = false;  // EM steps and back projections give the same sums bit for bit, on a GPU and on any
                               // number of threads
};

/// Throws std::invalid_argument unless the cut is finite and positive.
void validate(const JosephSettings& settings);

/// A Joseph projector on one grid. Weights are in mm: an image of ones gives the length of line
/// inside it. Throws std::invalid_argument for an invalid grid or one of 2^31 voxels or more (8 GiB:
/// offsets are 32-bit), std::runtime_error for a missing GPU.
std::unique_ptr<ListModeProjector> make_joseph_projector(const Grid& grid, const JosephSettings& settings,
                                                         Backend backend);

/// The same operator in double precision, single-threaded and written for clarity: the oracle of
/// all other versions.
std::unique_ptr<ReferenceProjector> make_joseph_reference(const Grid& grid, const JosephSettings& settings);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
