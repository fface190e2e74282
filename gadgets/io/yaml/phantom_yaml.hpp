// Reads a phantom and its regions for analysis from YAML (share/phantoms/). Every mistake is one
// line: file:line:column: what is wrong, and an unknown key lists the known ones.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kernels/simulate/phantom.hpp"

namespace tofstream::formats {

/// What a region is for in an analysis: hot and cold spheres, the lung insert and background discs
/// of NEMA NU 2; a plain region whose mean is wanted; a sphere whose contrast against the annulus about it is wanted,
/// and the disc whose noise belongs to that.
enum class RegionRole { hot, cold, lung, background, mean, contrast, noise };

/// A sphere of the given diameter, or the disc of that diameter across an axis through the centre, or across z on each
/// of the slices.
struct PhantomRegion {
  std::string name;
  RegionRole role = RegionRole::mean;
  Vec3d centre_mm;
  double diameter_mm = 0;
  std::vector<double> slices_mm;  // z of each slice
  std::optional<int> across;      // axis of the one disc; none, and no slices: the region is a sphere
};

struct PhantomFile {
  Phantom phantom;
  std::vector<PhantomRegion> regions;
  std::optional<double> mu_keV;  // the energy of the photons that its attenuation holds for
};

/// Throws std::runtime_error in the form above, or where the file cannot be read.
PhantomFile read_phantom(const std::filesystem::path& file);
/// The same from text; `file` is what messages call it.
PhantomFile parse_phantom(const std::string& text, const std::string& file);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
