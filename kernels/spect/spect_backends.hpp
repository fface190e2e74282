// What spect.cpp asks of the backends' files, which may rely on valid grids, sets and settings.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/spect/spect.hpp"

namespace tofstream {

/// Of the planes of a group of views, which A^T keeps at a time; one view's may be more.
inline constexpr std::size_t most_bytes_of_planes_cpu = std::size_t{256} << 20;
inline constexpr std::size_t most_views_a_group_cpu = 8;

std::unique_ptr<ViewProjector> make_rotation_cpu(const Grid& grid, const ViewSet& set, const SpectSettings& settings);
std::unique_ptr<ViewProjector> make_rotation_cuda(const Grid& grid, const ViewSet& set, const SpectSettings& settings);
/// The same for all settings: slower, by the rotated planes of a group of views in memory.
std::unique_ptr<ViewProjector> make_rotation_general_cuda(const Grid& grid, const ViewSet& set,
                                                          const SpectSettings& settings);

/// Throws std::invalid_argument unless the views are of a set with the geometry that the projector was made for.
void require_views_of(const ViewSet& set, const Views& views);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
