// Attenuation of LORs on the CPU: see attenuate.hpp.
#include "kernels/correct/attenuate.hpp"

#include <cmath>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/memory/refuse.hpp"

namespace tofstream::detail {

void attenuate(float* values, const float* integrals, std::int64_t count, Memory memory, Stream stream) {
  if (!on_host(memory)) return attenuate_cuda(values, integrals, count, stream);
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, count, 4096), [&](const auto& range) {
    for (std::int64_t i = range.begin(); i < range.end(); ++i) values[i] *= std::exp(-integrals[i]);
  });
}

#ifndef TOFSTREAM_HAVE_CUDA
void attenuate_cuda(float*, const float*, std::int64_t, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
