// Sums of images of one grid, in the memory where they lie: what an update makes of several subsets' back projections.
#pragma once

#include <cstdint>

#include "kernels/types/image.hpp"

namespace tofstream {

/// sum_j <- sum_j + factor (plus_j - minus_j), in place; `minus` null: 0. Complete on return. Throws
/// std::invalid_argument for grids or memories that differ, and a factor that is not finite.
void add_difference(Image& sum, double factor, const Image& plus, const Image* minus = nullptr,
                    Stream stream = nullptr);

/// sum_i <- sum_i + plus_i for `count` numbers in one memory, such as a part of an image. Queued on a device's stream,
/// complete on return on the host.
void add_values(float* sum, const float* plus, std::int64_t count, Memory memory, Stream stream = nullptr);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
