// Times of DIRECT's operators, as the benchmarks of them take them.
#pragma once

#include <memory>
#include <vector>

#include "kernels/direct/direct.hpp"
#include "kernels/direct/direct_cuda_backends.hpp"

namespace tofstream::command {

/// An operator, and the views that it projects; one_stage on CUDA in this form.
struct DirectTimed {
  Grid grid;
  DirectViews directions;
  DirectSettings settings;
  std::vector<int> views = {};  // none: all
  OneStageForm form = OneStageForm::automatic;
};

/// Medians, in ms, of one projection of the views, the data lying where the operator works.
double forward_ms(const DirectTimed& timed, Backend backend, int repeats);
double back_ms(const DirectTimed& timed, Backend backend, int repeats);
/// The time of an iteration of block RAMLA: forward, ratio, back and update of one view after the other.
double iteration_ms(const DirectTimed& timed, Backend backend, int repeats);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
