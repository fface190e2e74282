// Line integrals of a mu map: see attenuation.hpp.
#include "kernels/ring/correct/attenuation.hpp"

#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/correct/attenuate.hpp"

namespace tofstream {

Attenuation::Attenuation(const Image& mu_per_mm, Backend backend)
    : integrals_(make_line_integrals(mu_per_mm, backend)) {
  for (const float mu : mu_per_mm.voxels.span())
    if (!(mu >= 0 && std::isfinite(mu)))
      throw std::invalid_argument(fmt::format("attenuation cannot be {} per mm", mu));
}

void Attenuation::apply(EventView events, float* factors, Stream stream) const {
  if (events.count == 0) return;
  const Memory memory = memory_of(backend());
  Buffer<float> integrals(memory, events.count, stream);
  integrals_->along(events, integrals.data(), stream);
  detail::attenuate(factors, integrals.data(), events.count, memory, stream);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
