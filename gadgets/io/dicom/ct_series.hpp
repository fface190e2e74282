// CT images in DICOM (PS3.3 A.3), a slice a file: the whole series as an image of CT numbers.
#pragma once

#include <filesystem>
#include <optional>

#include "kernels/grid/resample.hpp"

namespace tofstream::formats {

struct CtSeries {
  PosedImage posed;           // Hounsfield units
  std::optional<double> kvp;  // voltage of the tube, where the files tell it
};

/// The frame is the patient's, as DICOM has it (LPS, mm). Slices across the patient, or along another two of the
/// frame's axes, are an image along x, y and z that is not moved; oblique ones, also those of a tilted gantry, an image
/// along the series' own axes, and its pose. `path`: the folder of the slices of one series, or its only slice. Throws
/// std::runtime_error of one line that names the file: no CT, two series in one folder, slices of different sizes,
/// directions or tube voltages, twice at one place, missing, of mixed spacing, another unit, and what GDCM cannot read;
/// in a build without GDCM always.
CtSeries read_ct_series(const std::filesystem::path& path);

/// Whether the path is a folder, or a file of DICOM.
bool is_ct_series(const std::filesystem::path& path);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
