// A CT of either format, wherever it lies; and images that may lie obliquely, for who resamples them.
#pragma once

#include <filesystem>

#include "gadgets/io/dicom/ct_series.hpp"
#include "kernels/grid/resample.hpp"

namespace tofstream::formats {

/// As read_image_file (image_file.hpp), but of an oblique NIfTI too.
PosedImage read_posed_image_file(const std::filesystem::path& path);

/// A folder or file of DICOM, or an image, in Hounsfield units. Throws what the readers throw, and std::runtime_error
/// where the values are not such units, because there is no air.
CtSeries read_ct_file(const std::filesystem::path& path);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
