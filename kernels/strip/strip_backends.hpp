// What strip.cpp asks of the CPU's and CUDA's files, which may rely on valid grids and settings; and what they share.
#pragma once

#include <memory>

#include "kernels/strip/strip.hpp"

namespace tofstream {

/// Throws std::invalid_argument unless the events have free ends and ToF.
void require_strip_events(const EventView& events);

std::unique_ptr<ListModeProjector> make_strip_cpu(const Grid& grid, const StripSettings& settings);
std::unique_ptr<ListModeProjector> make_strip_cuda(const Grid& grid, const StripSettings& settings);
std::string why_strips_are_slow_on_cuda(const Grid& grid, const StripSettings& settings);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
