// An affine map as text: rows of a 4 x 4 matrix, as registration programs write it.
#pragma once

#include <filesystem>

#include "kernels/types/affine.hpp"

namespace tofstream::formats {

/// Three or four rows of four numbers, apart by blanks, tabs or commas; a fourth row is 0 0 0 1. The last column is the
/// shift in mm. Empty lines and what follows a # are passed over. Throws std::runtime_error of one line, with file and
/// line: too few or too many rows or numbers, no number, another fourth row, a singular matrix.
Affine read_affine(const std::filesystem::path& path);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
