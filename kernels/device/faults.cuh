// Counts of what a kernel met that is rarely there, such as voxels that became NaN.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/memory/memory.hpp"

namespace tofstream {

/// Counts that are nearly always 0, in memory of the host, which the device reaches: nothing is to be cleared, copied or
/// asked for on the device in each update.
template <int count>
class Faults {
 public:
  Faults() : words_(Memory::pinned, count) { words_.clear(); }
  unsigned long long* words() { return words_.data(); }
  /// Once all that is queued is done.
  std::array<std::int64_t, count> read(Stream stream) const {
    synchronize(stream);
    std::array<std::int64_t, count> found{};
    std::ranges::transform(words_.span(), found.begin(), [](auto word) { return static_cast<std::int64_t>(word); });
    return found;
  }

 private:
  Buffer<unsigned long long> words_;
};

/// Adds how many of a block's threads say 1; every thread of the block must call it.
__device__ inline void count_fault(unsigned long long* word, int is_one) {
  const int sum = __syncthreads_count(is_one);
  if (threadIdx.x == 0 && sum > 0) atomicAdd(word, static_cast<unsigned long long>(sum));
}

/// What one voxel adds to each of the counts: 0 or 1.
template <int count>
struct VoxelCounts {
  int of[count] = {};
};

template <int count, class Voxel>
__global__ void change_and_count(Voxel change, std::int64_t voxels, unsigned long long* words) {
  const std::int64_t v = elementwise::element();
  const VoxelCounts<count> here = v < voxels ? change(v) : VoxelCounts<count>{};
#pragma unroll
  for (int kind = 0; kind < count; ++kind) count_fault(&words[kind], here.of[kind]);
}

/// change(v), a device function, changes voxel v and says what it met. Gives the sums over all voxels; complete on
/// return. `purpose`: see check_cuda().
template <int count, class Voxel>
std::array<std::int64_t, count> change_voxels(const Voxel& change, std::int64_t voxels, const char* purpose,
                                              Stream stream) {
  Faults<count> faults;
  if (voxels > 0)
    change_and_count<count>
        <<<elementwise::blocks(voxels), elementwise::threads, 0, stream>>>(change, voxels, faults.words());
  check_launch(purpose);
  return faults.read(stream);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
