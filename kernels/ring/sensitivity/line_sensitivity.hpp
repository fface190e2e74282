// The sensitivity of recorded lines: A^T(efficiency x attenuation) over all of them.
#pragma once

#include "kernels/ring/sensitivity/sensitivity_rank.hpp"
#include "kernels/types/recorded_lines.hpp"

namespace tofstream {

/// The exact sum over the scanner's lines, on the projector's grid and by its `back`; see compute_sensitivity. Throws
/// std::invalid_argument where no line can count.
Sensitivity sensitivity_of_lines(const SensitivityWork& work, const ProjectorRanks& projectors, Stream stream,
                                 const SensitivityProgress& progress);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
