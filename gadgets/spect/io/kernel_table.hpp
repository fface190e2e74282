// Reads a camera's measured or simulated kernels from YAML: depths, and a kernel of the camera's pixels for each.
#pragma once

#include <filesystem>

#include "kernels/spect/psf.hpp"

namespace tofstream::formats {

/// Throws std::runtime_error of one line, file:line:column: message, for a file that cannot be read, kernels of
/// different sizes, even sizes, depths that do not ascend or of another number than kernels, and sums of 0.
KernelTable read_kernel_table(const std::filesystem::path& file);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
