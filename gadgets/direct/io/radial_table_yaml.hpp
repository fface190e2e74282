// A table of the radial factor of DIRECT's kernel as YAML:
//   offset_step_mm: 1                 # between a row's values; its middle one is at the voxel
//   radius_step_mm: 2                 # between rows, of the voxels' radial coordinate; the middle row is at the axis
//   rows: [{values: [0, 1, 4, 1, 0]}]   # one for all voxels, or an odd number; from negative to positive coordinates
#pragma once

#include <filesystem>
#include <string>

#include "kernels/direct/direct_kernel.hpp"

namespace tofstream::formats {

/// Throws std::runtime_error, one line file:line:column: message, for bad YAML, unknown keys, and rows that
/// validate(RadialTable) refuses.
RadialTable parse_radial_table(const std::string& text, const std::string& file);
RadialTable read_radial_table(const std::filesystem::path& file);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
