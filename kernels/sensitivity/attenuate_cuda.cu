// Attenuation of LORs on a CUDA device: see attenuate.hpp.
#include "kernels/cuda/check.hpp"
#include "kernels/sensitivity/attenuate.hpp"

namespace tofstream::detail {

namespace {

constexpr int block = 256;

__global__ void attenuate_each(float* values, const float* integrals, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * block + threadIdx.x;
  if (i < count) values[i] *= expf(-integrals[i]);
}

}  // namespace

void attenuate_cuda(float* values, const float* integrals, std::int64_t count, Stream stream) {
  if (count == 0) return;
  attenuate_each<<<static_cast<unsigned>((count + block - 1) / block), block, 0, stream>>>(values, integrals, count);
  check_launch("attenuate lines of response");
}

}  // namespace tofstream::detail
