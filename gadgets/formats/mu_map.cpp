// Attenuation maps from NIfTI: see mu_map.hpp.
#include "gadgets/formats/mu_map.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "gadgets/formats/nifti.hpp"

namespace tofstream {

Image read_mu_map(const std::filesystem::path& path) {
  constexpr float per_cm_to_per_mm = 0.1f;
  Image mu = read_nifti(path);
  for (float& value : mu.voxels.span()) {
    if (!(value >= 0)) throw std::runtime_error(fmt::format("{}: attenuation must not be negative", path.string()));
    value *= per_cm_to_per_mm;
  }
  return mu;
}

}  // namespace tofstream
