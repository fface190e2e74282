// Voxel by voxel and in either memory: sums of projected batches, the mean of replicates with its spread, and the mean
// of the replicates that are held out. A sum has so few lines a voxel that its rounding in float does not matter
// (some 1e-6 of a voxel where 2000 lines meet it); sums are added in double. Internal to the sensitivity.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/math/host_device.hpp"
#include "kernels/ring/sensitivity/sample_bias.hpp"
#include "kernels/ring/sensitivity/symmetry.hpp"
#include "kernels/types/image.hpp"

namespace tofstream::detail {

/// What one voxel's arrays hold.
struct ReplicateArrays {
  float* batch;       // what the projector adds to
  double* replicate;  // batches of this replicate so far
  float* mean;        // of the replicates so far
  float* deviations;  // sum of their squared deviations from it; null: not kept
  int count;          // replicates that the mean is to hold

  TOFSTREAM_HOST_DEVICE void end_batch(std::int64_t v) const {
    replicate[v] += static_cast<double>(batch[v]);
    batch[v] = 0;
  }
  /// Welford's step for the replicate averaged over the symmetries, which is not changed.
  TOFSTREAM_HOST_DEVICE void end_replicate(const SymmetryGroup& symmetries, std::int64_t v) const {
    const auto value = static_cast<float>(symmetries.mean(replicate, v)), delta = value - mean[v];
    mean[v] += delta / static_cast<float>(count);
    if (deviations) deviations[v] += delta * (value - mean[v]);
  }
};

/// Sums over voxels: of squared deviations from the mean, and of the squared mean.
struct SpreadSums {
  double deviations = 0, mean2 = 0;
  TOFSTREAM_HOST_DEVICE void add_voxel(float mean, float deviation2) {
    deviations += static_cast<double>(deviation2);
    mean2 += static_cast<double>(mean) * static_cast<double>(mean);
  }
  TOFSTREAM_HOST_DEVICE void add(const SpreadSums& other) {
    deviations += other.deviations;
    mean2 += other.mean2;
  }
};

/// A group that has no end: no replicate is held out.
inline constexpr int no_hold_out = std::numeric_limits<int>::max();

class ReplicateMean {
 public:
  /// One replicate in `group` is held out, the last; 0: none is, and there is no spread. `share`: the share of all
  /// pairs that one replicate draws.
  ReplicateMean(const Grid& grid, int group, double share, Memory memory, Stream stream);

  /// The image that a batch is projected into: zero before each.
  float* batch() { return batch_.voxels.data(); }
  /// Queued on the stream where there is one.
  void end_batch();
  void end_replicate(const SymmetryGroup& symmetries);

  /// RMS standard error of the mean / its RMS; 0 where no spread is kept.
  double relative_error() const;
  /// The mean, on the host.
  Image image() const { return on_the_host(mean_); }
  /// No pair is drawn twice, which reduces the variance that follows from the spread by the factor 1 - f. e^2 is at
  /// most 1, in a voxel that only one replicate touched. The part held out is scaled to the sum of image(), so that
  /// chance in the sum of a small sample does not enter ratios of the two. Empty where no spread is kept, or nothing
  /// is held out.
  SampleNoise noise() const;

 private:
  SpreadSums spread_sums() const;
  Image on_the_host(const Image& image) const;
  double undrawn() const;

  int group_;
  double share_;
  Memory memory_;
  Stream stream_;
  Image batch_, mean_, deviations_, held_out_;
  Buffer<double> replicate_;
  int count_ = 0, held_out_count_ = 0;
};

/// ReplicateArrays::end_batch() of each voxel. Queued on the stream.
void end_batch_cuda(const ReplicateArrays& arrays, std::int64_t voxels, Stream stream);
/// Complete on return; the same images give the same bits.
SpreadSums spread_sums_cuda(const float* mean, const float* deviations, std::int64_t voxels, Stream stream);
/// ReplicateArrays::end_replicate() of each voxel. Queued on the stream.
void end_replicate_cuda(const ReplicateArrays& arrays, const SymmetryGroup& symmetries, std::int64_t voxels,
                        Stream stream);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
