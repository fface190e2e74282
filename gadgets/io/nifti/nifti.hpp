// Images as NIfTI-1 files (.nii, .nii.gz): float32 voxels in our order, with the affine from voxel
// indices to RAS mm as sform and qform (our world is LPS, so x and y carry -1); any axis-aligned
// file is read back.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "kernels/types/image.hpp"

namespace tofstream {

/// The longest comment that a file can hold, in bytes.
inline constexpr std::size_t longest_nifti_comment = std::size_t{8} << 20;

struct NiftiText {
  std::string description;  // header field descrip, cut at 79 bytes
  std::string unit;         // of a voxel's value: header field intent_name, cut at 15 bytes
  std::string comment;      // a comment extension (code 6), as provenance in JSON; empty: none
};

/// Writes a host image; the name must end in .nii or .nii.gz. The file appears by rename, or not at
/// all. Throws std::runtime_error when it cannot be written (folder, full disk),
/// std::invalid_argument for another suffix.
void write_nifti(const std::filesystem::path& path, const Image& image, const NiftiText& text = {});

/// The same for volumes of one grid, one after the other in `voxels`: a 4D file where there is more than one. Throws
/// std::invalid_argument for voxels that are not 1 to 32767 whole volumes.
void write_nifti_volumes(const std::filesystem::path& path, const Grid& grid, std::span<const float> voxels,
                         const NiftiText& text = {});

/// Reads a 3D image (or 4D with one frame) of integer or float voxels, scaled by scl_slope and scl_inter, into our
/// frame: axes are permuted and flipped so that x, y, z (LPS) ascend. Throws std::runtime_error, one line that names
/// the file: not NIfTI-1, wrong dimensions, a voxel type we do not read, no position in space, an oblique affine,
/// truncated, a voxel that is not finite.
Image read_nifti(const std::filesystem::path& path);

/// The same of a file that may be 4D: its volumes, of which a 3D file has one.
std::vector<Image> read_nifti_volumes(const std::filesystem::path& path);

/// The first comment extension of a NIfTI-1 file; empty where there is none.
std::string read_nifti_comment(const std::filesystem::path& path);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
