// The stream on which data come to the device: see bring.hpp.
#include "kernels/memory/bring.hpp"

#ifdef TOFSTREAM_HAVE_CUDA
#include <cuda_runtime_api.h>

#include "kernels/cuda/check.hpp"
#endif

namespace tofstream {

Stream bring_stream() {
#ifdef TOFSTREAM_HAVE_CUDA
  static const Stream stream = [] {
    cudaStream_t made = nullptr;
    if (why_no_cuda().empty())
      check_cuda(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "create a stream for data that come");
    return made;
  }();
  return stream;
#else
  return nullptr;
#endif
}

bool few_bytes_are_pinned(std::size_t more) {
  static const std::size_t most = free_host_bytes() / 32;
  return used_pinned_bytes() + more <= most;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
