// The header of a CASToR data file of PET (.cdh): what its events have, and which scanner recorded them
// (CASToR general documentation, "PET datafile format").
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tofstream::castor {

enum class DataMode {
  list,
  histogram,
  normalisation,  // lines with their correction factors, and no counts
};

struct DataHeader {
  std::filesystem::path file;  // the header itself
  std::filesystem::path data;  // the events' file; relative ones lie beside the header
  std::string scanner;
  DataMode mode = DataMode::list;
  std::uint64_t events = 0;  // of a histogram: lines with all of their ToF bins
  double start_s = 0, duration_s = 0;    // of a normalisation 0
  std::uint32_t most_lines = 1;          // pairs of crystals that an event may have come from
  double most_axial_difference_mm = -1;  // between the crystals of a pair that counts; negative: any
  double calibration = 1;                // divides efficiencies
  std::string isotope;                   // empty: not said
  bool has_attenuation = false, has_normalisation = false, has_scatter = false, has_randoms = false;
  bool has_kind = false;  // of list mode: a byte that tells true, scattered and random coincidences apart
  bool has_tof = false;
  double tof_fwhm_ps = 0;
  double tof_range_ps = 0;               // of list mode: from the least to the largest difference of arrival times
  double tof_quantum_ps = 0;             // of list mode: the width of the bins that it was rounded to; 0: as measured
  std::uint32_t tof_bins = 1;            // of a histogram
  double tof_bin_ps = 0;                 // of a histogram
  std::vector<std::string> unread = {};  // keywords that are not used, as "keyword: value"
};

/// Throws std::runtime_error of one line, "file:line: what, and what to do": a keyword that CASToR requires is missing,
/// a value that cannot be, data that are not PET, and data that the flags say are in a form that is
/// not read.
DataHeader read_data_header(const std::filesystem::path& file);
/// The same of a text; `file` need not exist.
DataHeader parse_data_header(std::string_view text, const std::filesystem::path& file);

/// The text of a header, which names its data file beside it.
std::string data_header_text(const DataHeader& header);

/// Whether a file that begins so is such a header.
bool is_data_header(std::string_view start);

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
