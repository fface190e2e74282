// Images of PET as STIR writes them (.hv with .v): x fastest, then y, then z.
//
// STIR's frame has x to the left and y to the back of a patient that lies head first and supine, and z from the head to
// the feet; ours is DICOM's, so planes come in the opposite order. STIR puts the middle plane of an image that states no
// other offset at the middle of the scanner's rings, and pixel n/2 (rounded down) of x and y on its axis; a stated offset
// moves it. So, with n pixels of w mm and the header's 'first pixel offset' f,
//
//   x = f_x + i w_x, y = f_y + j w_y, z = -(f_z + (k - (n_z - 1) / 2) w_z)      f = -floor(n/2) w for x and y, 0 for z
//
// (UCL/STIR, commit 9a59610: interfile.cxx, ProjMatrixByBinUsingRayTracing.cxx.)
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "kernels/types/image.hpp"

namespace tofstream::interfile {

/// Reads an image of integers or floats of any byte order, scaled by the header's factor. Throws std::runtime_error of
/// one line, with file and line or with the sizes of the data file: no image of PET, more than one frame, data cut short,
/// a voxel that is not finite.
Image read_image(const std::filesystem::path& header);

/// Writes a host image's voxels as floats, with the numbers beside the header (.v). `name`: what made it. The files
/// appear by rename, the header last. Throws std::invalid_argument where the name does not end in .hv or the image has
/// no voxels, std::runtime_error where it cannot be written.
void write_image(const std::filesystem::path& header, const Image& image, std::string_view name = "tofstream");

/// Whether a file is an Interfile header of an image of PET, by its keys.
bool is_image_header(const std::filesystem::path& file);

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
