// The header of projection data of PET as STIR writes it (.hs): which scanner, which bins, and how their numbers are
// stored. Keys and conventions are those of STIR (UCL/STIR, commit 9a59610: src/IO/InterfileHeader.cxx, interfile.cxx,
// buildblock/ProjDataInfoCylindrical*.cxx); share/doc/interfile.md states them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gadgets/io/interfile/header.hpp"
#include "gadgets/io/raw_pixels.hpp"

namespace tofstream::interfile {

/// Bins of lines of like obliqueness: ring 2 minus ring 1 lies between the two differences. Where these differ, the
/// bins along the axis lie half a ring apart, else one ring (axial compression, STIR's span).
struct Segment {
  int least_difference = 0, most_difference = 0;
  int positions = 0;  // along the axis
  bool is_compressed() const { return most_difference != least_difference; }
  friend bool operator==(const Segment&, const Segment&) = default;
};

/// Which axis is the slower of the two between segment and tangential position.
enum class AxisOrder { views, planes };  // viewgrams one after the other, or sinograms

/// Rings of crystals, as the header's figures have them.
struct ScannerFigures {
  std::string name;                // originating system
  int rings = 0, detectors = 0;    // detectors of a ring
  double inner_diameter_mm = 0;    // of the crystals' faces
  double depth_mm = 0;             // at which photons interact, below the face
  double ring_distance_mm = 0;     // of one ring's middle from the next's
  double bin_mm = 0;               // 0: not said
  double offset_deg = 0;           // by which detector 0 is turned (STIR's view offset)
  double energy_resolution = 0;    // FWHM at the reference energy, as a share of it; 0: not said
  double reference_keV = 511;      // of the resolution
  int tof_bins = 0;                // of the scanner, not joined; 0: no ToF
  double tof_bin_ps = 0;           // of one, of the difference of arrival times
  double tof_fwhm_ps = 0;          // of the difference of arrival times
  std::filesystem::path crystals;  // a file with the place of each crystal (generic geometry); empty: a cylinder
  /// From the axis to where photons interact.
  double radius_mm() const { return inner_diameter_mm / 2 + depth_mm; }
};

struct ProjectionHeader {
  std::filesystem::path file;  // the header itself
  std::filesystem::path data;  // relative ones lie beside the header
  std::int64_t offset = 0;     // of the numbers in it, bytes
  formats::RawPixels numbers;
  double scale = 1;  // that numbers are multiplied with
  ScannerFigures scanner;
  std::vector<Segment> segments;  // in the file's order
  AxisOrder order = AxisOrder::views;
  int views = 0, tangential = 0;
  int tof_positions = 1;               // 1: no ToF
  int tof_mashing = 0;                 // scanner's ToF bins that a position joins; 0: no ToF
  std::vector<int> tof_order;          // numbers of the ToF positions, from -tof_positions / 2 on, in the file's order
  double low_keV = 0, high_keV = 0;    // energy window; 0: not said
  double start_s = 0, duration_s = 0;  // duration 0: not said
  std::string isotope;                 // empty: not said
  std::vector<std::string> notes;      // what the file says that is not used, a line each

  bool has_tof() const { return tof_mashing > 0; }
  /// Views of the scanner that a view joins.
  int mashing() const { return scanner.detectors / 2 / views; }
  /// Width of a ToF position, mm along the line.
  double tof_width_mm() const;
  /// The middle of the ToF position at this place in the file, mm from the line's midpoint towards detector 2. STIR
  /// counts towards detector 1.
  double tof_mm(int place) const;
  /// Bins of one ToF position, and of the file.
  std::int64_t bins() const;
  std::int64_t numbers_in_file() const { return bins() * tof_positions; }
};

/// Throws std::runtime_error of one line, "file:line: what, and what to do": no PET projection data, a key that is
/// missing or cannot be, data that are arc corrected, a scanner that the header does not describe in full.
ProjectionHeader read_projection_header(const std::filesystem::path& file);
/// The same of a text; `file` need not exist.
ProjectionHeader parse_projection_header(std::string_view text, const std::filesystem::path& file);

/// The text of a header, with all keys that STIR asks for; it names its data file beside it.
std::string projection_header_text(const ProjectionHeader& header);

/// Whether a file is an Interfile header of projection data of PET, by its keys.
bool is_projection_header(const std::filesystem::path& file);

/// Why two headers' bins are not the same bins, in words; empty where they are: of the same scanner, in the same order.
/// `tof`: their ToF positions must be the same too.
std::string other_bins(const ProjectionHeader& a, const ProjectionHeader& b, bool tof);

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
