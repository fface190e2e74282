// Reads a NIfTI-1 file: its header by libniftiio, checked, and its voxels as floats, line by line. Internal to the
// readers of NIfTI.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nifti1_io.h>

#include "kernels/types/image.hpp"

namespace tofstream::detail {

struct FreeNifti {
  void operator()(nifti_image* image) const { nifti_image_free(image); }
};
using NiftiFile = std::unique_ptr<nifti_image, FreeNifti>;

/// std::runtime_error of one line that names the file.
[[noreturn]] void refuse_nifti(const std::filesystem::path& path, const std::string& why);

/// The header, without voxels. Throws std::runtime_error: no such file, not NIfTI-1, a broken header.
NiftiFile open_nifti(const std::filesystem::path& path);

/// Refuses a voxel type that we do not read, and a file too short for its voxels, before memory is allocated.
void check_nifti_voxels(const std::filesystem::path& path, const nifti_image& header);

/// Reads all voxels, scaled by scl_slope and scl_inter, a chunk at a time: the voxels of line n, along the first axis,
/// go to place(n), `step` floats apart. Throws std::runtime_error for a truncated file.
void read_nifti_lines(const std::filesystem::path& path, const nifti_image& header, std::int64_t step,
                      const std::function<float*(std::int64_t line)>& place);

/// The first `volumes` images of three axes that the file has along its further axes, in our frame. The caller has
/// looked at those. Throws std::runtime_error as read_nifti does.
std::vector<Image> read_nifti_images(const std::filesystem::path& path, const nifti_image& header, int volumes);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
