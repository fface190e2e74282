// Scanners as single scatter sees them: see scatter_scanner.hpp.
#include "gadgets/ring/io/scatter_scanner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/petsird/decoder.hpp"
#include "gadgets/io/petsird/materials.hpp"
#include "gadgets/io/petsird/ring_size.hpp"
#include "gadgets/io/petsird/to_scanner.hpp"
#include "gadgets/io/yaml/scanner_file.hpp"
#include "kernels/math/units.hpp"

namespace tofstream {

namespace {

struct ScatterHeaderReader final : petsird::Handler {
  std::optional<petsird::Header> header;
  void on_header(petsird::Header&& found) override { header = std::move(found); }
};

petsird::Header header_of_recording(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error(fmt::format("{}: cannot be read", file.string()));
  ScatterHeaderReader reader;
  petsird::Decoder decoder(reader);
  std::array<char, 1 << 16> bytes;
  try {
    while (!reader.header && stream) {
      stream.read(bytes.data(), bytes.size());
      decoder.push(std::as_bytes(std::span(bytes).first(static_cast<std::size_t>(stream.gcount()))));
    }
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("{}: {}", file.string(), error.what()));
  }
  if (!reader.header) throw std::runtime_error(fmt::format("{}: ends within its header", file.string()));
  return std::move(*reader.header);
}

petsird::Header header_of_file(const std::filesystem::path& file) {
  const std::string name = file.string();
  if (name.ends_with(".yaml") || name.ends_with(".yml")) return formats::petsird_header_of(file, 0).header;
  return header_of_recording(file);
}

/// One for all types of modules.
EnergyAcceptance acceptance_of(const petsird::ScannerInformation& scanner, const std::string& name) {
  if (scanner.event_energy_bin_edges_keV.empty() || scanner.event_energy_bin_edges_keV.front().size() < 2)
    throw std::runtime_error(fmt::format(
        "{}: its header states no energy window, which scatter depends on: name a scanner's YAML file, which has "
        "energy: {{low_keV: .., high_keV: .., resolution: ..}}",
        name));
  if (scanner.energy_resolution_at_511.empty() || !(scanner.energy_resolution_at_511.front() > 0))
    throw std::runtime_error(
        fmt::format("{}: its header states no energy resolution, which scatter depends on: name a scanner's YAML file, "
                    "which has energy: {{low_keV: .., high_keV: .., resolution: ..}}",
                    name));
  const auto& edges = scanner.event_energy_bin_edges_keV.front();
  for (const auto& of_type : scanner.event_energy_bin_edges_keV)
    if (of_type.empty() || of_type.front() != edges.front() || of_type.back() != edges.back())
      throw std::runtime_error(
          fmt::format("{}: its kinds of modules have different energy windows, and scatter is made for one", name));
  return {.low_keV = static_cast<double>(edges.front()),
          .high_keV = static_cast<double>(edges.back()),
          .resolution = static_cast<double>(scanner.energy_resolution_at_511.front())};
}

double tof_sigma_of(const petsird::ScannerInformation& scanner) {
  if (scanner.tof_resolution_fwhm_mm.empty() || scanner.tof_resolution_fwhm_mm.front().empty()) return 0;
  const bool has_bins = !scanner.tof_bin_edges_mm.empty() && !scanner.tof_bin_edges_mm.front().empty() &&
                        scanner.tof_bin_edges_mm.front().front().size() > 2;
  return has_bins ? static_cast<double>(scanner.tof_resolution_fwhm_mm.front().front()) / fwhm_per_sigma : 0;
}

}  // namespace

ScatterScanner scatter_scanner(const std::filesystem::path& file) {
  const petsird::Header header = header_of_file(file);
  ScatterScanner made;
  made.detectors.energy = acceptance_of(header.scanner, file.string());
  made.tof_sigma_mm = tof_sigma_of(header.scanner);
  const auto scanner = petsird::to_scanner(header.scanner);
  const auto count = static_cast<std::uint32_t>(scanner->detectors->size());
  double sum = 0, nearest = std::numeric_limits<double>::max(), farthest = 0;
  for (std::uint32_t d = 0; d < count; ++d) {
    const Vec3d at = scanner->detectors->position(d).as<double>();
    const double from_axis = std::hypot(at.x, at.y);
    sum += from_axis;
    nearest = std::min(nearest, from_axis);
    farthest = std::max(farthest, from_axis);
    made.half_length_mm = std::max(made.half_length_mm, std::abs(at.z));
  }
  constexpr double roundest = 1.15;  // twelve flat modules: 1.04; two layers of crystals a little more
  if (!(farthest <= roundest * nearest))
    throw std::runtime_error(
        fmt::format("{}: its crystals lie {:.0f} to {:.0f} mm from the axis x = y = 0, and scatter is made for a "
                    "cylinder of them about it",
                    file.string(), nearest, farthest));
  made.detectors.radius_mm = sum / count;
  if (!header.scanner.bulk_materials.empty())
    if (const auto per_mm = petsird::attenuation_per_mm(header.scanner.bulk_materials.front()))
      made.detectors.crystal.back = static_cast<float>(*per_mm * petsird::ring_size(header.scanner).depth_mm);
  return made;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
