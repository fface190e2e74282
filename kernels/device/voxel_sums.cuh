// Sums over all voxels on a CUDA device. Blocks of one size and number add in one order, so the same images give the same
// bits.
#pragma once

#include <cstdint>

#include <cub/block/block_reduce.cuh>

#include "kernels/cuda/check.hpp"
#include "kernels/memory/memory.hpp"

namespace tofstream::voxel_sums {

inline constexpr int threads = 256, blocks = 512;

template <class Sums>
struct Together {
  __device__ Sums operator()(Sums a, const Sums& b) const {
    a.add(b);
    return a;
  }
};

template <class Sums, class AddVoxel>
__global__ void sum_parts(AddVoxel add_voxel, std::int64_t voxels, Sums* parts) {
  Sums sums;
  for (std::int64_t v = std::int64_t{blockIdx.x} * threads + threadIdx.x; v < voxels;
       v += std::int64_t{blocks} * threads)
    add_voxel(sums, v);
  using Reduce = cub::BlockReduce<Sums, threads>;
  __shared__ typename Reduce::TempStorage storage;
  sums = Reduce(storage).Reduce(sums, Together<Sums>());
  if (threadIdx.x == 0) parts[blockIdx.x] = sums;
}

/// `Sums`: begins as zero and has add(other). add_voxel(sums, v), a device function, adds voxel v. `purpose`: see
/// check_cuda(). Complete on return.
template <class Sums, class AddVoxel>
Sums sum(const AddVoxel& add_voxel, std::int64_t voxels, const char* purpose, Stream stream) {
  Buffer<Sums> parts(Memory::device, blocks, stream);
  sum_parts<<<blocks, threads, 0, stream>>>(add_voxel, voxels, parts.data());
  check_launch(purpose);
  Sums total;
  for (const Sums& part : parts.to_vector(stream)) total.add(part);
  return total;
}

}  // namespace tofstream::voxel_sums
// SPDX-License-Identifier: Apache-2.0
