// CT images in DICOM (PS3.3 A.3), a slice a file: the whole series as an image of CT numbers.
#pragma once

#include <filesystem>
#include <optional>

#include "kernels/types/image.hpp"

namespace tofstream::formats {

struct CtSeries {
  Image image;                // Hounsfield units
  std::optional<double> kvp;  // voltage of the tube, where the files tell it
};

/// Hounsfield units on the series' grid; the frame is the patient's, as DICOM has it (LPS, mm). `path`: the folder of
/// the slices of one series, or its only slice. Throws std::runtime_error of one line that names the file: no CT, two
/// series in one folder, slices that are oblique, of different sizes or tube voltages, twice at one place or not evenly
/// spaced, another unit, and what GDCM cannot read; in a build without GDCM always.
CtSeries read_ct_series(const std::filesystem::path& path);

/// Whether the path is a folder, or a file of DICOM.
bool is_ct_series(const std::filesystem::path& path);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
