// Kernels that follow each other on a stream without a gap: the blocks of one are placed while the last ones of the
// kernel before it still run (programmatic dependent launch, from compute capability 9.0 on; before that it is a plain
// launch).
#pragma once

#include <cstddef>
#include <utility>

#include <cuda_runtime.h>

#include "kernels/cuda/check.hpp"

namespace tofstream::chain {

/// In each kernel that launch() starts, by each of its blocks, before it reads what kernels before it write, or writes
/// memory: waits until all kernels before it on the stream are complete. What was there before these began, such as
/// tables of a projector or numbers of views that the host copied, may be read earlier.
__device__ inline void wait_for_those_before() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
#endif
}

/// Queues a kernel. `purpose` completes the sentence "cannot ...".
template <class... Parameters, class... Arguments>
void launch(const char* purpose, void (*kernel)(Parameters...), dim3 blocks, dim3 threads, std::size_t shared_bytes,
            cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t how{};
  how.gridDim = blocks;
  how.blockDim = threads;
  how.dynamicSmemBytes = shared_bytes;
  how.stream = stream;
  how.attrs = &attribute;
  how.numAttrs = 1;
  check_cuda(cudaLaunchKernelEx(&how, kernel, Parameters(std::forward<Arguments>(arguments))...), purpose);
}

}  // namespace tofstream::chain
// SPDX-License-Identifier: Apache-2.0
