// Sums and means on a CUDA device: see replicate_mean.hpp.
#include "kernels/cuda/check.hpp"
#include "kernels/sensitivity/replicate_mean.hpp"

namespace tofstream::detail {

namespace {

constexpr int block = 256;

unsigned blocks_for(std::int64_t count) {
  return static_cast<unsigned>((count + block - 1) / block);
}

__device__ std::int64_t voxel_of_thread() {
  return std::int64_t{blockIdx.x} * block + threadIdx.x;
}

__global__ void end_each_batch(ReplicateArrays arrays, std::int64_t voxels) {
  const std::int64_t v = voxel_of_thread();
  if (v < voxels) arrays.end_batch(v);
}

__global__ void end_each_replicate(ReplicateArrays arrays, int count, std::int64_t voxels) {
  const std::int64_t v = voxel_of_thread();
  if (v < voxels) arrays.end_replicate(v, count);
}

}  // namespace

void end_batch_cuda(const ReplicateArrays& arrays, std::int64_t voxels, Stream stream) {
  if (voxels == 0) return;
  end_each_batch<<<blocks_for(voxels), block, 0, stream>>>(arrays, voxels);
  check_launch("add a batch to the sensitivity");
}

void end_replicate_cuda(const ReplicateArrays& arrays, int count, std::int64_t voxels, Stream stream) {
  if (voxels == 0) return;
  end_each_replicate<<<blocks_for(voxels), block, 0, stream>>>(arrays, count, voxels);
  check_launch("add a replicate to the sensitivity");
}

}  // namespace tofstream::detail
