// Where the direct path adds what it projects back: to the image, or to sums in fixed point whose bits do not depend on
// the order of additions (Workspace::add_in_bands).
#pragma once

#include <cstdint>

#include "kernels/math/fixed_point.hpp"
#include "kernels/project/tiled/tile_scales.hpp"

namespace tofstream::tiled {

/// The image itself, by floating-point additions in whatever order.
struct ImageTarget {
  float* image;

  ImageTarget from(std::int64_t voxel) const { return {image + voxel}; }
  __device__ void add(std::int64_t voxel, float value) const { atomicAdd(image + voxel, value); }
};

/// The additions whose values have an exponent of one band, in whole numbers of 2^-shift; or the question which bands
/// there are. What is not finite goes to the image with the question: it comes out the same in any order.
struct BandTarget {
  static constexpr int which = -1;      // asks for the bands
  static constexpr int room_log2 = 22;  // additions to a voxel, at most

  /// The shift of a band: a sum of 2^room_log2 of its largest values fits 62 bits and a sign.
  TOFSTREAM_HOST_DEVICE static int shift_of(int band) {
    return 62 - room_log2 - ((band + 1) * exponents_a_band - exponent_bias);
  }

  float* image;
  long long* sums;
  std::uint32_t* bands;  // bit b: there are values of band b
  int band;
  double scale = 0;  // 2^shift

  BandTarget from(std::int64_t voxel) const { return {image + voxel, sums + voxel, bands, band, scale}; }
  __device__ void add(std::int64_t voxel, float value) const {
    if (value == 0) return;
    const int own = static_cast<int>(exponent_of(value)) / exponents_a_band;
    if (!isfinite(value)) {
      if (band == which) atomicAdd(image + voxel, value);
    } else if (band == which) {
      if (!(*static_cast<volatile std::uint32_t*>(bands) >> own & 1u)) atomicOr(bands, 1u << own);
    } else if (own == band) {
      const long long whole = __double2ll_rn(static_cast<double>(value) * scale);
      atomicAdd(reinterpret_cast<unsigned long long*>(sums + voxel), static_cast<unsigned long long>(whole));
    }
  }
};

}  // namespace tofstream::tiled
// SPDX-License-Identifier: Apache-2.0
