// What the values of an image file are, as our files state it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "kernels/types/quantity.hpp"

namespace tofstream {

/// The quantity in the provenance of a NIfTI file; nothing if it has no provenance of ours. Throws std::runtime_error
/// as read_nifti_comment does.
std::optional<Quantity> read_nifti_quantity(const std::filesystem::path& path);

/// How a post-filter changed the image, likewise: "smoothed by 5 mm FWHM"; empty where none did.
std::string read_nifti_filter(const std::filesystem::path& path);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
