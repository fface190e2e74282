// Sums of projected batches and the mean of replicates with its spread, voxel by voxel, in either memory. A batch has
// so few lines that the rounding of a float sum does not show; batches are added in double. Internal to the
// sensitivity.
#pragma once

#include <cstdint>

#include "kernels/math/host_device.hpp"
#include "kernels/types/image.hpp"

namespace tofstream::detail {

/// What one voxel's arrays hold; `deviations` null where there is one replicate.
struct ReplicateArrays {
  float* batch;       // what the projector adds to
  double* replicate;  // batches of this replicate so far
  float* mean;        // of the replicates so far
  float* deviations;  // sum of their squared deviations from it

  TOFSTREAM_HOST_DEVICE void end_batch(std::int64_t v) const {
    replicate[v] += static_cast<double>(batch[v]);
    batch[v] = 0;
  }
  /// Welford's step of the replicate that makes `count` of them.
  TOFSTREAM_HOST_DEVICE void end_replicate(std::int64_t v, int count) const {
    const auto value = static_cast<float>(replicate[v]), delta = value - mean[v];
    replicate[v] = 0;
    mean[v] += delta / static_cast<float>(count);
    if (deviations) deviations[v] += delta * (value - mean[v]);
  }
};

class ReplicateMean {
 public:
  ReplicateMean(const Grid& grid, int replicates, Memory memory, Stream stream);

  /// The image that a batch is projected into: zero before each.
  float* batch() { return batch_.voxels.data(); }
  /// Queued on the stream where there is one.
  void end_batch();
  void end_replicate();

  /// The mean, on the host.
  Image mean() const;
  /// RMS standard error of a mean() / its RMS; 0 for one replicate.
  double relative_error(const Image& mean) const;

 private:
  ReplicateArrays arrays();
  Memory memory_;
  Stream stream_;
  Image batch_, mean_;
  Buffer<double> replicate_;
  Buffer<float> deviations_;
  int count_ = 0;
};

void end_batch_cuda(const ReplicateArrays& arrays, std::int64_t voxels, Stream stream);
void end_replicate_cuda(const ReplicateArrays& arrays, int count, std::int64_t voxels, Stream stream);

}  // namespace tofstream::detail
