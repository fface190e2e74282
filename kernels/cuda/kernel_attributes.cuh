// Asks CUDA what it makes of a kernel: see kernel_attributes.hpp.
#pragma once

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/kernel_attributes.hpp"

namespace tofstream {

/// The attributes, on the current device, of a kernel that is launched with blocks of so many threads and no shared
/// memory but its own.
template <class Kernel>
KernelAttributes attributes_of(Kernel* kernel, int threads) {
  cudaFuncAttributes known{};
  check_cuda(cudaFuncGetAttributes(&known, kernel), "read a kernel's attributes");
  KernelAttributes made{.threads = threads,
                        .registers = known.numRegs,
                        .shared_bytes = known.sharedSizeBytes,
                        .local_bytes = known.localSizeBytes};
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&made.blocks, kernel, threads, 0),
             "read a kernel's occupancy");
  int device = 0, most_threads = 0;
  check_cuda(cudaGetDevice(&device), "read the current device");
  check_cuda(cudaDeviceGetAttribute(&most_threads, cudaDevAttrMaxThreadsPerMultiProcessor, device),
             "read a device's attributes");
  made.occupancy = static_cast<double>(made.blocks) * threads / most_threads;
  return made;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
