// one_stage on CUDA in the forms that were published, to be measured beside today's (Ha et al. 2013, section 4.2).
#pragma once

#include <memory>

#include "kernels/cuda/kernel_attributes.hpp"
#include "kernels/direct/direct.hpp"

namespace tofstream {

enum class OneStageForm {
  automatic,  // the fastest, which make_direct_projector() gives
  tlp,        // figure 2: a thread a voxel, 512 a block
  ilp,        // figure 3: 16 voxels along z a thread, 256 a block
};

/// The projector of one_stage in a form; all have the same results but for rounding. Throws std::invalid_argument as
/// validate() does, std::runtime_error for a missing GPU.
std::unique_ptr<ViewProjector> make_one_stage_cuda(const Grid& grid, const ViewSet& set, const DirectSettings& settings,
                                                   OneStageForm form);

/// `form` is tlp or ilp; what it is made of is valid.
std::unique_ptr<ViewProjector> make_published_one_stage_cuda(const Grid& grid, const ViewSet& set,
                                                             const DirectSettings& settings, OneStageForm form);

/// What the kernel is that projects in a form, forward or back, with kernels that vary from voxel to voxel. Throws
/// std::runtime_error for a missing GPU.
KernelAttributes one_stage_attributes(OneStageForm form, bool is_forward);

/// `form` is tlp or ilp, and the GPU is there.
KernelAttributes published_one_stage_attributes(OneStageForm form, bool is_forward);
/// Today's form; the GPU is there.
KernelAttributes automatic_one_stage_attributes(bool is_forward);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
