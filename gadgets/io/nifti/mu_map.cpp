// Attenuation maps from files: see mu_map.hpp.
#include "gadgets/io/nifti/mu_map.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/printable.hpp"
#include "gadgets/io/ct_file.hpp"
#include "gadgets/io/image_file.hpp"
#include "gadgets/io/interfile/image_file.hpp"
#include "gadgets/io/memory_images.hpp"
#include "gadgets/io/nifti/nifti_file.hpp"
#include "gadgets/io/nifti/posed_mu_map.hpp"
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

void to_per_mm(const std::filesystem::path& path, Image& per_cm) {
  constexpr float per_cm_to_per_mm = 0.1f;
  for (float& value : per_cm.voxels.span()) {
    if (!(value >= 0)) throw std::runtime_error(fmt::format("{}: attenuation must not be negative", path.string()));
    value *= per_cm_to_per_mm;
  }
}

// Where the map begins or ends along an axis, in mm.
float border_mm(const Grid& grid, int axis, bool is_end) {
  const float begin = grid.origin_mm[axis] - 0.5F * grid.voxel_mm[axis];
  return is_end ? begin + static_cast<float>(grid.size[axis]) * grid.voxel_mm[axis] : begin;
}

double sum_of_plane(const Image& image, int axis, int plane) {
  int from[3] = {0, 0, 0}, to[3] = {image.grid.size[0], image.grid.size[1], image.grid.size[2]};
  from[axis] = plane;
  to[axis] = plane + 1;
  double sum = 0;
  for (int k = from[2]; k < to[2]; ++k)
    for (int j = from[1]; j < to[1]; ++j)
      for (int i = from[0]; i < to[0]; ++i) sum += static_cast<double>(image.voxels[image.grid.index(i, j, k)]);
  return sum;
}

// A round object that the map just holds has far less in its outermost plane than in the one before.
bool goes_on_beyond(const Image& mu_per_mm, int axis, bool is_end) {
  constexpr double water_per_mm = 0.0096, least_mm2 = 400, as_much = 0.8;
  const Grid& grid = mu_per_mm.grid;
  if (grid.size[axis] < 2) return false;
  const int last = grid.size[axis] - 1;
  const double outermost = sum_of_plane(mu_per_mm, axis, is_end ? last : 0);
  const double before = sum_of_plane(mu_per_mm, axis, is_end ? last - 1 : 1);
  const float voxel_mm2 = grid.voxel_mm[(axis + 1) % 3] * grid.voxel_mm[(axis + 2) % 3];
  return outermost * static_cast<double>(voxel_mm2) >= water_per_mm * least_mm2 && outermost >= as_much * before;
}

}  // namespace

Image read_mu_map(const std::filesystem::path& path, std::string_view parameter) {
  Image mu = map_of(path, parameter);
  to_per_mm(path, mu);
  return mu;
}

PosedImage read_posed_mu_map(const std::filesystem::path& path) {
  PosedImage mu = formats::read_posed_image_file(path);
  to_per_mm(path, mu.image);
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

std::string incomplete_mu_map(const std::string& what, const Image& mu_per_mm, float from_mm, float to_mm) {
  const Grid& grid = mu_per_mm.grid;
  const float low = border_mm(grid, 2, false), high = border_mm(grid, 2, true);
  if (from_mm < to_mm && (high <= from_mm || low >= to_mm))
    return fmt::format(
        "{}: the map goes from z = {:.0f} to {:.0f} mm and the data from {:.0f} to {:.0f} mm, so that it attenuates "
        "next to nothing: move it (tofstream mu-map --shift-mm)",
        printable(what), low, high, from_mm, to_mm);
  std::vector<std::string> sides;
  for (int axis = 0; axis < 3; ++axis)
    for (const bool is_end : {false, true}) {
      const float place = border_mm(grid, axis, is_end);
      const bool is_seen = axis < 2 || (place > from_mm && place < to_mm);
      if (is_seen && goes_on_beyond(mu_per_mm, axis, is_end))
        sides.push_back(fmt::format("{} = {:.0f} mm", "xyz"[axis], place));
    }
  if (sides.empty()) return {};
  return fmt::format(
      "{}: matter reaches the map's border at {}. If the object goes on there, what lies beyond attenuates nothing, "
      "and activity comes out too low: give a map that holds all of it",
      printable(what), fmt::join(sides, ", "));
}

std::string incomplete_mu_map(const std::string& what, const Image& mu_per_mm, const Scanner& scanner) {
  float from = std::numeric_limits<float>::infinity(), to = -from;
  const auto detectors = scanner.poses ? 0 : static_cast<std::uint32_t>(scanner.detectors->size());
  for (std::uint32_t detector = 0; detector < detectors; ++detector) {
    const float z = scanner.detectors->position(detector).z;
    from = std::min(from, z);
    to = std::max(to, z);
  }
  return incomplete_mu_map(what, mu_per_mm, from, to);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
