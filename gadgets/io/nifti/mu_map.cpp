// Attenuation maps from NIfTI: see mu_map.hpp.
#include "gadgets/io/nifti/mu_map.hpp"

#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "gadgets/io/memory_images.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/wire/checksum.hpp"

namespace tofstream {
namespace {

// In 1/cm.
Image map_of(const std::filesystem::path& path) {
  if (const Image* given = find_memory_image(path)) return *given;
  require_readable(path,
                   "--set mu_map=FILE names another, and 'tofstream phantom NAME --mu -o FILE' makes a phantom's");
  return read_nifti(path);
}

}  // namespace

Image read_mu_map(const std::filesystem::path& path) {
  constexpr float per_cm_to_per_mm = 0.1f;
  Image mu = map_of(path);
  for (float& value : mu.voxels.span()) {
    if (!(value >= 0)) throw std::runtime_error(fmt::format("{}: attenuation must not be negative", path.string()));
    value *= per_cm_to_per_mm;
  }
  return mu;
}

std::uint32_t checksum_of_mu_map(const Image& mu) {
  const Grid& grid = mu.grid;
  std::uint32_t sum = wire::crc32c(std::as_bytes(std::span(grid.size)));
  for (const Vec3& place : {grid.voxel_mm, grid.origin_mm}) {
    const float mm[] = {place.x, place.y, place.z};
    sum = wire::crc32c(std::as_bytes(std::span(mm)), sum);
  }
  return wire::crc32c(std::as_bytes(mu.voxels.span()), sum);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
