// Direct reconstruction of parametric images, by nested EM (Wang and Qi, Phys Med Biol 55 (2010) 1505): what frames show
// of a voxel is a sum of functions of time, x_f = sum_m B_fm theta_m, and events of all frames update its coefficients.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/types/image.hpp"

namespace tofstream {

inline constexpr int most_functions = 8;

/// A frame, or a subset of it.
struct NestedFrame {
  const Image& back_projection;   // A_f^T(ratio) at x_f
  std::vector<double> functions;  // B_fm, the mean of each function over the frame; not negative
  double time_fraction = 1;       // s_f = s time_fraction; 0: it has no data in this subset, and does not count
};

struct NestedEmSettings {
  int inner = 1;  // EM steps of the coefficients
  // What the back projections were made at, where this is no sum of the functions: as many everywhere.
  std::optional<float> uniform = {};
};

/// Updates the coefficients theta_m, an image each, in place and in the memory in which all images lie; complete on
/// return. With x'_f = x_f / s_f A_f^T(ratio), EM's image of frame f, `inner` steps of
///   theta_m <- theta_m / (sum_f s_f B_fm) sum_f s_f B_fm x'_f / (sum_n B_fn theta_n):
/// the log-likelihood of all frames never falls, if a frame is one subset. Voxels whose inverse sensitivity is 0 become
/// 0. A value that is not finite becomes 0; returns how many voxels had one. Throws std::invalid_argument for no or more
/// than most_functions coefficients, frames with another number of functions, values that are negative or not finite, a
/// function that is 0 in all frames, fewer than one inner step, and grids or memories that differ.
std::int64_t nested_em_update(std::span<Image> coefficients, std::span<const NestedFrame> frames,
                              const Image& inverse_sensitivity, const NestedEmSettings& settings,
                              Stream stream = nullptr);

/// x_f = sum_m B_fm theta_m, in the coefficients' memory; complete on return.
Image frame_image(std::span<const Image> coefficients, std::span<const double> functions, Stream stream = nullptr);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
