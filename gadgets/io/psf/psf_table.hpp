// Tables of a scanner's resolution by radius and z, as `tofstream psf` makes them: CSV with a line of column names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kernels/psf/resolution_table.hpp"

namespace tofstream::formats {

/// Reads `r_mm,z_mm,radial_mm,tangential_mm,axial_mm`: FWHM at a radius and a z of the scanner. Columns may come in any
/// order; others are not looked at; lines that begin with # are comments. Throws std::runtime_error, in one line with
/// the file, for columns that are missing or are no numbers, and for what ResolutionTable refuses.
ResolutionTable read_psf_table(const std::filesystem::path& file);

/// Writes the same, whole or not at all. `comment`: of the first line, without line breaks; empty: none. Throws
/// std::system_error where it cannot be written.
void write_psf_table(const std::filesystem::path& file, const std::vector<ResolutionPoint>& points,
                     const std::string& comment = "");

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
