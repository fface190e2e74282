// What the noise of a sampled sensitivity does to an image, and how that is undone.
//
// A sampled sensitivity is s (1 + n) with noise n of variance e^2, voxel by voxel. An update divides by it, which
// raises a voxel by e^2 on average. But the noise is the same at every update: after k of them a voxel has met
// (1 + n)^-k, and the k-th raises it by k e^2, while the data bring the scale back before the next. Once the data
// resolve the voxel they hold it, and k stops growing. How far it has grown is seen by a part of the sample that the
// image has never met: sum(s_h x) / sum(s (1 + n) x), s_h the part held out, is 1 + k <e^2> with <e^2> the mean over
// the image, weighted by s x. (The parts draw no pair twice: where the sample holds a share f of all pairs, that is
// 1 + k <e^2> / (1 - f), since a pair in one part is missing in the other.)
#pragma once

#include <cstdint>

#include "kernels/math/host_device.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

/// The error of a sampled sensitivity; the images are empty for an exact one.
struct SampleNoise {
  Image held_out;      // the same sensitivity from a part of the sample that it does not hold; its sum is the same
  Image variance;      // e^2: relative, of a voxel
  double undrawn = 1;  // share of all pairs that the sensitivity does not hold: 1 - f
  bool empty() const { return variance.voxels.empty(); }
};

/// Divides the back projection of an estimate x, after k updates, by 1 + (k + 1) e^2: what dividing it by the sampled
/// sensitivity would raise the next estimate by. k is estimated as above, and is at least 0. All images lie in one
/// memory; complete on return, with the same bits each time. Throws std::invalid_argument for grids or memories that
/// differ. Returns k.
double remove_sample_bias(const SampleNoise& noise, const Image& sensitivity, const Image& estimate,
                          Image& back_projection, Stream stream = nullptr);

namespace detail {

struct SampleBiasArrays {
  const float *held_out, *variance, *sensitivity, *estimate;
  float* back;
  std::int64_t voxels;
};

/// Sums over voxels of an estimate times s_h, s and s e^2.
struct SampleBiasSums {
  double held_out = 0, sensitivity = 0, variance = 0;

  TOFSTREAM_HOST_DEVICE void add_voxel(const SampleBiasArrays& a, std::int64_t v) {
    const auto x = static_cast<double>(a.estimate[v]), sx = static_cast<double>(a.sensitivity[v]) * x;
    held_out += static_cast<double>(a.held_out[v]) * x;
    sensitivity += sx;
    variance += static_cast<double>(a.variance[v]) * sx;
  }
  TOFSTREAM_HOST_DEVICE void add(const SampleBiasSums& other) {
    held_out += other.held_out;
    sensitivity += other.sensitivity;
    variance += other.variance;
  }
  /// k of the estimate.
  double updates(double undrawn) const {
    return sensitivity > 0 && variance > 0 && held_out > sensitivity ? undrawn * (held_out - sensitivity) / variance
                                                                     : 0;
  }
};

TOFSTREAM_HOST_DEVICE inline void remove_from_voxel(const SampleBiasArrays& a, float updates, std::int64_t v) {
  a.back[v] /= 1 + (updates + 1) * a.variance[v];
}

/// Complete on return; the same images give the same bits.
SampleBiasSums sample_bias_sums_cuda(const SampleBiasArrays& arrays, Stream stream);
/// remove_from_voxel() of each voxel. Queued on the stream.
void remove_sample_bias_cuda(const SampleBiasArrays& arrays, float updates, Stream stream);

}  // namespace detail

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
