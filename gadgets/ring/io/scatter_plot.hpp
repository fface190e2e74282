// A scatter estimate as a user looks at it: its profiles across the scanner.
#pragma once

#include <filesystem>

#include "kernels/ring/correct/scatter.hpp"

namespace tofstream {

/// Draws the estimate, ToF summed, against the distance s from the axis: of lines along y and along x between ends in the
/// middle plane, and the mean of all lines. `path`: .png or .svg. Throws as write_plot does.
void plot_scatter(const std::filesystem::path& path, const ScatterEstimate& estimate);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
