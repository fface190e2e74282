// The current CUDA device: see device.hpp.
#include "kernels/cuda/device.hpp"

#include "kernels/memory/memory.hpp"

#ifdef TOFSTREAM_HAVE_CUDA
#include <cuda_runtime_api.h>

#include "kernels/cuda/check.hpp"
#endif

namespace tofstream {

int multiprocessors() {
  require_cuda();
  int count = 0;
#ifdef TOFSTREAM_HAVE_CUDA
  int device = 0;
  check_cuda(cudaGetDevice(&device), "find the current device");
  check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "count multiprocessors");
#endif
  return count;
}

}  // namespace tofstream
