// Attenuation maps from files: see mu_map.hpp.
#include "gadgets/io/nifti/mu_map.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "gadgets/io/image_file.hpp"
#include "gadgets/io/interfile/image_file.hpp"
#include "gadgets/io/memory_images.hpp"
#include "gadgets/io/nifti/nifti_file.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/wire/checksum.hpp"

namespace tofstream {
namespace {

// In 1/cm.
Image map_of(const std::filesystem::path& path, std::string_view parameter) {
  if (const Image* given = find_memory_image(path)) return *given;
  require_readable(path, fmt::format("--set {}=FILE names another, and 'tofstream phantom NAME --mu -o FILE' makes a "
                                     "phantom's",
                                     parameter));
  return read_image_file(path);
}

}  // namespace

Image read_mu_map(const std::filesystem::path& path, std::string_view parameter) {
  constexpr float per_cm_to_per_mm = 0.1f;
  Image mu = map_of(path, parameter);
  for (float& value : mu.voxels.span()) {
    if (!(value >= 0)) throw std::runtime_error(fmt::format("{}: attenuation must not be negative", path.string()));
    value *= per_cm_to_per_mm;
  }
  return mu;
}

void require_per_cm(const std::filesystem::path& path, const Image& mu_per_mm) {
  constexpr float per_mm_to_per_cm = 10, least = 0.03f, most = 3;
  const float largest = per_mm_to_per_cm * std::ranges::max(mu_per_mm.voxels.span());
  if (largest == 0 || (largest >= least && largest <= most)) return;
  throw std::runtime_error(fmt::format(
      "{}: its largest value is {:.3g}, and attenuation at 511 keV in 1/cm has 0.096 in water: is it in {}?",
      path.string(), largest, largest < least ? "1/mm" : "Hounsfield units, which 'tofstream mu-map' converts"));
}

std::uint32_t checksum_of_mu_map(const Image& mu, std::uint32_t before) {
  const Grid& grid = mu.grid;
  std::uint32_t sum = wire::crc32c(std::as_bytes(std::span(grid.size)), before);
  for (const Vec3& place : {grid.voxel_mm, grid.origin_mm}) {
    const float mm[] = {place.x, place.y, place.z};
    sum = wire::crc32c(std::as_bytes(std::span(mm)), sum);
  }
  return wire::crc32c(std::as_bytes(mu.voxels.span()), sum);
}

std::string mu_map_description(std::optional<double> energy_keV) {
  return energy_keV ? fmt::format("attenuation, 1/cm at {:g} keV", *energy_keV) : "attenuation, 1/cm";
}

std::optional<double> mu_map_energy_keV(const std::filesystem::path& path) {
  if (find_memory_image(path) || interfile::is_image_header(path)) return {};
  constexpr std::string_view before = " at ", after = " keV";
  const detail::NiftiFile header = detail::open_nifti(path);
  const std::string_view text(header->descrip, ::strnlen(header->descrip, sizeof header->descrip));
  const std::size_t from = text.rfind(before), to = text.rfind(after);
  if (from == text.npos || to == text.npos || to < from + before.size()) return {};
  double energy = 0;
  const char* const end = text.data() + to;
  const auto [stop, error] = std::from_chars(text.data() + from + before.size(), end, energy);
  if (error != std::errc{} || stop != end || !(energy > 0 && std::isfinite(energy))) return {};
  return energy;
}

std::string other_mu_energy(const std::string& what, std::optional<double> stated_keV, double photons_keV) {
  constexpr double tolerated = 0.05;
  if (!stated_keV || !(photons_keV > 0) || std::abs(*stated_keV - photons_keV) <= tolerated * photons_keV) return {};
  return fmt::format(
      "{}: its attenuation is that of photons of {:g} keV, and those that are detected have {:g} keV: "
      "activity is wrong by what the two differ",
      printable(what), *stated_keV, photons_keV);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
