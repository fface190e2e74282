// Pointers by the driver: see pointer_place.hpp.
#include "kernels/memory/pointer_place.hpp"

#include "kernels/memory/memory.hpp"

#ifdef TOFSTREAM_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

namespace tofstream {

#ifdef TOFSTREAM_HAVE_CUDA
PointerPlace place_of(const void* pointer) {
  static const bool has_cuda = why_no_cuda().empty();
  cudaPointerAttributes attributes{};
  if (!has_cuda || cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess) return PointerPlace::host;
  if (attributes.type == cudaMemoryTypeManaged) return PointerPlace::device;
  if (attributes.type != cudaMemoryTypeDevice) return PointerPlace::host;
  int current = 0;
  cudaGetDevice(&current);
  return attributes.device == current ? PointerPlace::device : PointerPlace::other_device;
}
#else
PointerPlace place_of(const void* /*pointer*/) {
  return PointerPlace::host;
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
