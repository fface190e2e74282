// What a CPU does with columns of numbers along z or w, in its widest vectors. Lengths are padded_length()s: a column
// has room for whole vectors.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/spect/footprint.hpp"

namespace tofstream {

constexpr std::int64_t padded_length(std::int64_t length) {
  return (length + 15) / 16 * 16;
}

/// Functions for this machine's instruction set.
struct ColumnMath {
  /// out = the sum of the image's columns, each with its weight.
  void (*gather)(std::span<const ColumnTap> taps, const float* image, std::int64_t stride, std::int64_t length,
                 float* out);
  /// Each column of the image += in with its weight.
  void (*scatter)(std::span<const ColumnTap> taps, const float* in, std::int64_t stride, std::int64_t length,
                  float* image);
  /// out = in convolved along the column with weights[0] in the middle and weights[1..reach] to both sides.
  void (*blur_along)(const float* in, const float* weights, int reach, std::int64_t length, float* out);
  /// out (+)= the weighted sum of the column `in` and those to both sides, `stride` apart.
  void (*blur_across)(const float* in, std::int64_t stride, const float* weights, int reach, std::int64_t length,
                      bool add, float* out);
  /// out[r] += the sum over j of weights[j * across] in[r + reach - j], for j in [0, 2 reach].
  void (*convolve)(const float* in, const float* weights, int across, int reach, std::int64_t length, float* out);
  /// out += weight * in.
  void (*add_scaled)(const float* in, float weight, std::int64_t length, float* out);
  /// factor = exp(-step (before + mu / 2)), then before += mu: what leaves a plane, when `before` is the sum of mu in
  /// the planes before it.
  void (*attenuate)(const float* mu, const float* steps, std::int64_t length, float* before, float* factor);
  /// inout *= factor.
  void (*multiply)(const float* factor, std::int64_t length, float* inout);
};

const ColumnMath& column_math();

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
