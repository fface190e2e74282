// Chooses a form of one_stage on CUDA: see direct_cuda_backends.hpp.
#include "kernels/direct/direct_backends.hpp"
#include "kernels/direct/direct_cuda_backends.hpp"
#include "kernels/memory/refuse.hpp"

namespace tofstream {

std::unique_ptr<ViewProjector> make_one_stage_cuda(const Grid& grid, const ViewSet& set, const DirectSettings& settings,
                                                   OneStageForm form) {
  validate(grid, set, settings);
  require_cuda();
  return form == OneStageForm::automatic ? make_one_stage_cuda(grid, set, settings)
                                         : make_published_one_stage_cuda(grid, set, settings, form);
}

KernelAttributes one_stage_attributes(OneStageForm form, bool is_forward) {
  require_cuda();
  return form == OneStageForm::automatic ? automatic_one_stage_attributes(is_forward)
                                         : published_one_stage_attributes(form, is_forward);
}

#ifndef TOFSTREAM_HAVE_CUDA
KernelAttributes published_one_stage_attributes(OneStageForm, bool) {
  refuse_cuda();
}
KernelAttributes automatic_one_stage_attributes(bool) {
  refuse_cuda();
}
std::unique_ptr<ViewProjector> make_published_one_stage_cuda(const Grid&, const ViewSet&, const DirectSettings&,
                                                             OneStageForm) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
