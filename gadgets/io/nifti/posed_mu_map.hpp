// Attenuation maps that may lie obliquely, for who resamples them.
#pragma once

#include <filesystem>

#include "kernels/grid/resample.hpp"

namespace tofstream {

/// As read_mu_map (mu_map.hpp), in 1/mm, but of an oblique NIfTI too.
PosedImage read_posed_mu_map(const std::filesystem::path& path);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
