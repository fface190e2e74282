// Writes the bytes of a NIfTI-1 file. Internal to the writers of NIfTI.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace tofstream::detail {

/// Throws std::invalid_argument unless the name ends in .nii or .nii.gz.
void check_nifti_name(const std::filesystem::path& path);

/// Writes the bytes before the voxels, then the voxels, compressed if the name says so (see gzip.hpp). The file appears
/// by rename, or not at all. Throws std::invalid_argument for another suffix, std::system_error where it cannot be
/// written.
void write_nifti_bytes(const std::filesystem::path& path, std::span<const std::byte> head,
                       std::span<const std::byte> voxels);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
