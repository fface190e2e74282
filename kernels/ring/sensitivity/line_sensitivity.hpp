// The sensitivity of recorded lines: A^T(efficiency x attenuation) over all of them.
#pragma once

#include "kernels/ring/sensitivity/sensitivity.hpp"
#include "kernels/types/recorded_lines.hpp"

namespace tofstream {

/// The exact sum, on the projector's grid and by its `back`; see compute_sensitivity. Throws std::invalid_argument where
/// no line can count.
Sensitivity sensitivity_of_lines(const RecordedLines& lines, const ProjectorRanks& projectors, const MuMaps& mu,
                                 Stream stream, const SensitivityProgress& progress);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
