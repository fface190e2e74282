// Displacement fields as NIfTI-1 files: vectors in mm.
#pragma once

#include <filesystem>

#include "kernels/warp/warp.hpp"

namespace tofstream {

/// The axes of a file's vectors: those of our world (left, posterior, superior) or of NIfTI's (right, anterior,
/// superior).
enum class DisplacementFrame { lps, ras };

/// Reads a field of three components (the file's fifth axis; its fourth has one entry) into our frame; its voxels are
/// placed as those of images. Throws std::runtime_error, one line that names the file: what read_nifti throws, another
/// number of components, an intent that is not that of a vector or displacement, a unit of length that is not mm, and
/// displacements longer than the field's own diagonal, which are in other units.
DisplacementField read_displacement(const std::filesystem::path& path, DisplacementFrame frame);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
