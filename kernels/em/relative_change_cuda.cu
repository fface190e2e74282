// The relative change on a CUDA device: see relative_change.hpp. Blocks of one size and number add in one order, so the
// same images give the same bits.
#include <cub/block/block_reduce.cuh>

#include "kernels/cuda/check.hpp"
#include "kernels/em/relative_change_voxel.hpp"
#include "kernels/types/image.hpp"

namespace tofstream::detail {
namespace {

constexpr int change_threads = 256, change_blocks = 512;

struct AddChanges {
  __device__ ChangeSums operator()(ChangeSums a, const ChangeSums& b) const {
    a.add(b);
    return a;
  }
};

__global__ void sum_changes(ChangeArrays arrays, ChangeSums* parts) {
  ChangeSums sums;
  for (std::int64_t v = std::int64_t{blockIdx.x} * change_threads + threadIdx.x; v < arrays.voxels;
       v += std::int64_t{change_blocks} * change_threads)
    sums.add_voxel(arrays, v);
  using Reduce = cub::BlockReduce<ChangeSums, change_threads>;
  __shared__ typename Reduce::TempStorage storage;
  sums = Reduce(storage).Reduce(sums, AddChanges());
  if (threadIdx.x == 0) parts[blockIdx.x] = sums;
}

}  // namespace

ChangeSums change_sums_cuda(const ChangeArrays& arrays, Stream stream) {
  Buffer<ChangeSums> parts(Memory::device, change_blocks, stream);
  sum_changes<<<change_blocks, change_threads, 0, stream>>>(arrays, parts.data());
  check_launch("sum how far an update moved the image");
  ChangeSums total;
  for (const ChangeSums& part : parts.to_vector(stream)) total.add(part);
  return total;
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
