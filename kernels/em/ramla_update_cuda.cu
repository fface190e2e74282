// RAMLA's update on a CUDA device: see ramla_update.hpp. Each block of threads writes a word into memory of the host, one
// more than the values that it replaced, and the host waits for these words alone.
#include <algorithm>

#include "kernels/cuda/chain.cuh"
#include "kernels/cuda/host_flag.cuh"
#include "kernels/em/em_voxel.hpp"
#include "kernels/em/ramla_voxel.hpp"

namespace tofstream::detail {

namespace {

constexpr int ramla_threads = 256, voxels_at_once = 4;
constexpr const char* ramla_purpose = "update the estimate by RAMLA";

__global__ void __launch_bounds__(ramla_threads)
    update_ramla(RamlaArrays arrays, std::int64_t voxels, std::uint32_t* reports) {
  __shared__ unsigned replaced;
  if (threadIdx.x == 0) replaced = 0;
  __syncthreads();
  chain::wait_for_those_before();
  const std::int64_t first = std::int64_t{blockIdx.x} * voxels_at_once * ramla_threads + threadIdx.x;
  RamlaVoxel voxel[voxels_at_once];
#pragma unroll
  for (int n = 0; n < voxels_at_once; ++n)
    if (first + n * ramla_threads < voxels) voxel[n] = RamlaVoxel::of(arrays, first + n * ramla_threads);
  int bad = 0;
#pragma unroll
  for (int n = 0; n < voxels_at_once; ++n)
    if (first + n * ramla_threads < voxels)
      arrays.estimate[first + n * ramla_threads] = ramla_voxel(voxel[n], arrays, bad);
  if (bad > 0) atomicAdd(&replaced, static_cast<unsigned>(bad));
  __syncthreads();
  if (threadIdx.x == 0) raise_flag(reports[blockIdx.x], 1 + replaced);
}

}  // namespace

std::int64_t ramla_update_cuda(const RamlaArrays& arrays, std::int64_t voxels, Stream stream) {
  constexpr std::int64_t of_block = std::int64_t{voxels_at_once} * ramla_threads;
  const std::int64_t blocks = (voxels + of_block - 1) / of_block;
  if (blocks == 0) return 0;
  Buffer<std::uint32_t> reports(Memory::pinned, blocks);
  std::fill_n(reports.data(), blocks, 0u);
  chain::launch(ramla_purpose, update_ramla, static_cast<unsigned>(blocks), ramla_threads, 0, stream, arrays, voxels,
                reports.data());
  std::int64_t replaced = 0;
  for (const std::uint32_t& report : reports.span()) {
    wait_for_flag(report, stream, ramla_purpose);
    replaced += report - 1;
  }
  return replaced;
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
