// Attenuation of LORs on the CPU: see attenuate.hpp.
#include "kernels/correct/attenuate.hpp"

#include <cmath>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

namespace tofstream::detail {

void attenuate(float* values, const float* integrals, std::int64_t count, Memory memory,
               [[maybe_unused]] Stream stream) {
#ifdef TOFSTREAM_HAVE_CUDA
  if (memory == Memory::device) {
    attenuate_cuda(values, integrals, count, stream);
    return;
  }
#endif
  if (!on_host(memory)) require_cuda();
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, count, 4096), [&](const auto& range) {
    for (std::int64_t i = range.begin(); i < range.end(); ++i) values[i] *= std::exp(-integrals[i]);
  });
}

}  // namespace tofstream::detail
