// What direct.cpp asks of the operators' files, which may rely on valid grids, sets and settings.
#pragma once

#include <memory>

#include "kernels/direct/direct.hpp"

namespace tofstream {

std::unique_ptr<ViewProjector> make_one_stage_cpu(const Grid& grid, const ViewSet& set, const DirectSettings& settings);
std::unique_ptr<ViewProjector> make_two_stage_cpu(const Grid& grid, const ViewSet& set, const DirectSettings& settings);
std::unique_ptr<ViewProjector> make_direct_fft_cpu(const Grid& grid, const ViewSet& set,
                                                   const DirectSettings& settings);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
