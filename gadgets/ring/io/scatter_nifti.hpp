// A scatter estimate as a NIfTI-1 file of five dimensions: radial, angle, z of end a, z of end b, ToF; spacings in
// pixdim (mm; the angle's in degrees, 180 / angles). Samples are placed as ScatterEstimate says, whatever the affine.
#pragma once

#include <filesystem>

#include "kernels/ring/correct/scatter.hpp"

namespace tofstream {

/// Reads an estimate, plain or gzip, of integer or float samples; trailing dimensions of 1 may be left out. Throws
/// std::runtime_error, one line that names the file and what is wrong with it.
ScatterEstimate read_scatter(const std::filesystem::path& path);

/// Writes float32; the name must end in .nii or .nii.gz. The file appears by rename, or not at all. Throws
/// std::invalid_argument for another name or an estimate that is not valid, std::system_error when it cannot be
/// written.
void write_scatter(const std::filesystem::path& path, const ScatterEstimate& estimate);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
