// Histo-images as a 4D NIfTI file: a volume for each view.
#pragma once

#include <filesystem>
#include <span>

#include "kernels/types/views.hpp"

namespace tofstream {

/// `counts`: [view][k][j][i] of all places of the set. On the image's lattice the file's frame is the scanner's; on the
/// views' lattices its first two axes are each view's own t and s, and its third z is sheared. A comment in JSON says
/// which, with each view's azimuth and tilt. Throws std::invalid_argument for views of a camera, for other counts, and
/// for a name that does not end in .nii or .nii.gz; std::system_error where the file cannot be written.
void write_histo_images(const std::filesystem::path& path, const ViewSet& set, std::span<const float> counts);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
