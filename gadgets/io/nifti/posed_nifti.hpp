// NIfTI images that may lie obliquely, for who resamples them.
#pragma once

#include <filesystem>

#include "kernels/grid/resample.hpp"

namespace tofstream {

/// As read_nifti (nifti.hpp), but of an oblique file too: its voxels are then those of the file, along the file's own
/// axes, and the pose says where they lie. Any other file's run along x, y and z, and are not moved.
PosedImage read_posed_nifti(const std::filesystem::path& path);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
