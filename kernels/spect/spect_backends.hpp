// What spect.cpp asks of the backends' files, which may rely on valid grids, sets and settings.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/spect/spect.hpp"

namespace tofstream {

/// A^T keeps the planes of a group of views at a time, of at most this size; one view's may be more.
inline constexpr std::size_t most_bytes_of_planes_cpu = std::size_t{256} << 20;
inline constexpr std::size_t most_views_a_group_cpu = 8;

/// Bytes from which on an image is a large one for a GPU, and those of planes that the general projector writes there
/// at once: more is faster, since launches are longer (share/benchmarks, 'SPECT on the H200'); large images, of 256
/// voxels along each axis, shall stay within 1.5 GiB.
inline constexpr std::size_t large_image_bytes = std::size_t{32} << 20;
constexpr std::size_t bytes_of_general_planes(std::size_t image_bytes) {
  constexpr std::size_t of_large = std::size_t{128} << 20, of_small = std::size_t{1} << 30;
  return image_bytes > large_image_bytes ? of_large : of_small;
}

std::unique_ptr<ViewProjector> make_rotation_cpu(const Grid& grid, const ViewSet& set, const SpectSettings& settings);
std::unique_ptr<ViewProjector> make_rotation_cuda(const Grid& grid, const ViewSet& set, const SpectSettings& settings);
/// The same for all settings: slower, by the rotated planes of a group of views in memory.
std::unique_ptr<ViewProjector> make_rotation_general_cuda(const Grid& grid, const ViewSet& set,
                                                          const SpectSettings& settings);

/// add_sensitivity() of the backends: back projects the views' efficiencies.
void add_efficiencies(ViewProjector& projector, const Views& views, float* image, Stream stream);

/// Throws std::invalid_argument unless the views are of a set with the geometry that the projector was made for.
void require_views_of(const ViewSet& set, const Views& views);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
