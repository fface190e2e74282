// A map of attenuation at the photons' energy: NIfTI, or Interfile as STIR writes it, in 1/cm, on any grid.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/types/image.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

/// The map in 1/mm. Throws std::runtime_error, one line that names the file, if it is not an image or has a negative
/// voxel, or is missing: then also by which `parameter` of pipelines another is named.
Image read_mu_map(const std::filesystem::path& path, std::string_view parameter = "mu_map");

/// Throws std::runtime_error, one line, where a map's largest value betrays another unit than 1/cm at 511 keV: below
/// 0.03 (water has 0.096) it would be 1/mm, above 3 (lead has 1.8) Hounsfield units. A map of zeros is taken.
void require_per_cm(const std::filesystem::path& path, const Image& mu_per_mm);

/// A checksum of the map's voxels and their positions: two maps with the same checksum are the same map. `before`: of
/// what goes into it too.
std::uint32_t checksum_of_mu_map(const Image& mu, std::uint32_t before = 0);

/// What a map's file says of itself: "attenuation, 1/cm at 140.5 keV", or without an energy where none is known.
std::string mu_map_description(std::optional<double> energy_keV);

/// The energy in a file's description; nothing where it states none. Throws std::runtime_error where it is no NIfTI.
std::optional<double> mu_map_energy_keV(const std::filesystem::path& path);

/// A warning, in one line, where attenuation is stated for another energy than that of the photons, by more than 5 %;
/// else empty. Energies that are not known (nothing, or 0) do not differ. `what`: "mu.nii".
std::string other_mu_energy(const std::string& what, std::optional<double> stated_keV, double photons_keV);

/// A warning, in one line, where a map seems not to hold the whole object: matter as dense as water goes straight through
/// one of its sides, over 4 cm^2 or more; or no data reach the map. Else empty. `from_mm`, `to_mm`: how far data reach
/// along z; an end of the map beyond them may cut what it likes. `what`: "mu.nii".
std::string incomplete_mu_map(const std::string& what, const Image& mu_per_mm, float from_mm, float to_mm);
/// The same for a scanner's events, which lie between its outermost detectors; where it moved, only the sides count.
std::string incomplete_mu_map(const std::string& what, const Image& mu_per_mm, const Scanner& scanner);

inline constexpr auto* mu_map_words =
    "NIfTI or Interfile (.hv) of attenuation (1/cm) on any grid; none: no attenuation. event_corrections and the "
    "projector need the same "
    "one: put it at the pipeline's top";

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
