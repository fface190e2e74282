// The density that an image of blobs stands for, sampled at the centres of voxels: sum over blobs of coefficient times
// profile (blob.hpp) at the distance of their nodes.
#pragma once

#include "kernels/types/image.hpp"

namespace tofstream {

/// Samples images of blobs on one grid of voxels. The profile is read from a table (2048 steps of r, joined by lines):
/// good to 2e-6 of its peak.
class BlobToVoxels {
 public:
  /// Throws std::invalid_argument unless `blobs` is a valid grid of blobs and `voxels` one of voxels,
  /// std::runtime_error for a missing GPU.
  BlobToVoxels(const Grid& blobs, const Grid& voxels, Backend backend);

  /// The voxel image in the backend's memory, queued on the stream; 0 where no blob reaches. Throws
  /// std::invalid_argument for an image of another grid or in other memory.
  Image operator()(const Image& blobs, Stream stream = nullptr) const;

  const Grid& voxels() const { return voxels_; }

 private:
  Grid blobs_, voxels_;
  Backend backend_;
  Buffer<float> table_;
};

/// A grid of voxels with these edges and the same centre, just as large as to hold all nodes of the blobs.
Grid covering_voxels(const Grid& blobs, Vec3 voxel_mm);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
