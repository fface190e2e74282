// A small scanner and small projection data as STIR writes them, for tests.
#pragma once

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

#include "gadgets/io/interfile/projection_header.hpp"
#include "kernels/math/vec3.hpp"

namespace tofstream::interfile::testing {

/// Rings of detectors 100 mm from the axis, 8 mm apart; all of their pairs.
inline ProjectionHeader small_projections(const std::filesystem::path& folder, int rings = 3, int detectors = 16) {
  ProjectionHeader header;
  header.file = folder / "scan.hs";
  header.data = folder / "scan.s";
  header.scanner.name = "small";
  header.scanner.rings = rings;
  header.scanner.detectors = detectors;
  header.scanner.inner_diameter_mm = 190;
  header.scanner.depth_mm = 5;
  header.scanner.ring_distance_mm = 8;
  header.scanner.bin_mm = 10;
  for (int d = 1 - rings; d < rings; ++d) header.segments.push_back({d, d, rings - std::abs(d)});
  header.views = detectors / 2;
  header.tangential = detectors - 1;
  header.tof_order = {0};
  header.duration_s = 2;
  return header;
}

/// The same with ToF positions.
inline void give_tof(ProjectionHeader& header, int positions, double bin_ps, double fwhm_ps, int mashing = 1) {
  header.scanner.tof_bins = positions * mashing;
  header.scanner.tof_bin_ps = bin_ps;
  header.scanner.tof_fwhm_ps = fwhm_ps;
  header.tof_mashing = mashing;
  header.tof_positions = positions;
  header.tof_order.resize(static_cast<std::size_t>(positions));
  std::iota(header.tof_order.begin(), header.tof_order.end(), -(positions / 2));
}

inline void write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

/// Writes the header, and the numbers as little-endian floats.
inline void write_projections(const ProjectionHeader& header, const std::vector<float>& numbers) {
  write_text(header.file, projection_header_text(header));
  std::ofstream(header.data, std::ios::binary)
      .write(reinterpret_cast<const char*>(numbers.data()),
             static_cast<std::streamsize>(numbers.size() * sizeof(float)));
}

/// A header's text with one of its lines replaced; `line` empty: left out.
inline std::string with_line(const std::string& text, const std::string& key, const std::string& line) {
  const std::size_t at = text.find(key), end = text.find('\n', at);
  return text.substr(0, at) + line + text.substr(line.empty() ? end + 1 : end);
}

/// Where detector k of a ring lies in STIR's frame, whose middle is that of the rings.
inline Vec3d stir_position(const ScannerFigures& s, int k, int ring) {
  const double psi = 2 * std::numbers::pi * k / s.detectors + s.offset_deg * std::numbers::pi / 180;
  return {s.radius_mm() * std::sin(psi), -s.radius_mm() * std::cos(psi),
          (ring - 0.5 * (s.rings - 1)) * s.ring_distance_mm};
}

}  // namespace tofstream::interfile::testing
// SPDX-License-Identifier: Apache-2.0
