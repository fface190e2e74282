// Line integrals of a mu map: see attenuation.hpp.
#include "kernels/ring/correct/attenuation.hpp"

#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/correct/attenuate.hpp"
#include "kernels/ring/joseph/joseph.hpp"

namespace tofstream {

Attenuation::Attenuation(const Image& mu_per_mm, Backend backend)
    : projector_(make_joseph_projector(mu_per_mm.grid, {}, backend)) {
  for (const float mu : mu_per_mm.voxels.span())
    if (!(mu >= 0 && std::isfinite(mu)))
      throw std::invalid_argument(fmt::format("attenuation cannot be {} per mm", mu));
  mu_ = mu_per_mm.voxels.to(memory_of(backend));
  synchronize(nullptr);
}

void Attenuation::apply(EventView events, float* factors, Stream stream) const {
  if (events.count == 0) return;
  events.tof_mm = events.tof_width_mm = nullptr;
  const Memory memory = memory_of(backend());
  Buffer<float> integrals(memory, events.count, stream);
  projector_->forward(events, mu_.data(), integrals.data(), stream);
  detail::attenuate(factors, integrals.data(), events.count, memory, stream);
}

}  // namespace tofstream
