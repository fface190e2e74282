// The forward and back projection kernels of Cui et al.'s scheme (algorithms 1 and 2), queued with or without fast
// math: kernels-inl.cuh compiled twice.
#pragma once

#include <cuda_runtime.h>

#include "kernels/ring/tor/paper/slices.hpp"
#include "kernels/ring/tor/tor_model.hpp"

namespace tofstream::tor::paper {

/// How a kernel gets at the radial response: a Gaussian computed, another computed or from a table in global memory,
/// any from a texture.
enum class Radial { gaussian, other, texture };

/// What fig. 3 counts in a back projection, each where it is not null.
struct CollisionCounts {
  unsigned* of_voxel = nullptr;  // additions that another thread preceded
  unsigned long long* writes = nullptr;

  /// Notes an addition to the voxel() that had so many collisions.
  template <class Voxel>
  __device__ void note(unsigned collisions, const Voxel& voxel) const {
    if (of_voxel && collisions > 0) atomicAdd(of_voxel + voxel(), collisions);
    if (writes) atomicAdd(writes, 1ull);
  }
};

/// What the kernels know of a batch, by value.
struct Task {
  Pass pass;
  Lines lines;
  Slices slices[3];                 // across x, y, z
  std::int64_t axis_begin[4] = {};  // lines of axis a are [axis_begin[a], axis_begin[a + 1]), where partitioned
  bool partitioned = false, skip_slices = false, hardware_atomics = false;
  CollisionCounts collisions;
  const float* table = nullptr;
  cudaTextureObject_t texture = 0;
};

struct Launch {
  bool staged = true, fixed_bounds = true, unrolled = true;
  Radial radial = Radial::gaussian;
  unsigned blocks = 1, threads = 1024;
  Stream stream = nullptr;
};

/// sums[i] += sum over the voxels of line i of weight * voxel, without the line's scale.
template <bool fast_math>
void queue_forward(const Task& task, const Launch& launch, const float* image, float* sums);
/// image += values[i] * weight along line i, without the line's scale; a value of 0 adds nothing.
template <bool fast_math>
void queue_back(const Task& task, const Launch& launch, const float* values, float* image);

}  // namespace tofstream::tor::paper
// SPDX-License-Identifier: Apache-2.0
