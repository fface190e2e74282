// A map of attenuation at 511 keV: NIfTI in 1/cm, on any grid.
#pragma once

#include <filesystem>

#include "kernels/types/image.hpp"

namespace tofstream {

/// The map in 1/mm. Throws std::runtime_error, one line that names the file, where it is no image or has a negative
/// voxel.
Image read_mu_map(const std::filesystem::path& path);

}  // namespace tofstream
