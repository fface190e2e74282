// Images of any format that is read: NIfTI, and Interfile of PET as STIR writes it.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "kernels/types/image.hpp"
#include "kernels/types/quantity.hpp"

namespace tofstream {

/// Reads an image, whose format its first bytes tell. Throws what read_nifti (nifti/nifti.hpp) and interfile::read_image
/// (interfile/image_file.hpp) throw.
Image read_image_file(const std::filesystem::path& path);
/// The frames of a file, of which most have one. Throws likewise.
std::vector<Image> read_image_frames(const std::filesystem::path& path);

/// What an image says that its values are; Interfile says nothing. Throws as read_nifti_quantity does.
std::optional<Quantity> quantity_of_image_file(const std::filesystem::path& path);

/// Whether a file is an image by its name or its first bytes.
bool is_image_file(const std::filesystem::path& path);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
