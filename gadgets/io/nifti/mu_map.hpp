// A map of attenuation at 511 keV: NIfTI in 1/cm, on any grid.
#pragma once

#include <cstdint>
#include <filesystem>

#include "kernels/types/image.hpp"

namespace tofstream {

/// The map in 1/mm. Throws std::runtime_error, one line that names the file, if it is not an image or has a negative
/// voxel.
Image read_mu_map(const std::filesystem::path& path);

/// A checksum of the map's voxels and their positions: two maps with the same checksum are the same map.
std::uint32_t checksum_of_mu_map(const Image& mu);

inline constexpr auto* mu_map_words =
    "NIfTI of attenuation (1/cm) on any grid; none: no attenuation. event_corrections and the projector need the same "
    "one: put it at the pipeline's top";

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
