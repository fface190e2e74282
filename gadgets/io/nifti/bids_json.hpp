// The JSON beside an image, with the keys that BIDS has for PET (Knoesel et al., Scientific Data 9 (2022) 65;
// bids-specification, positron emission tomography): what is known, and nothing else. BIDS has no SPECT: an image of a
// gamma camera gets the same keys, and says that it is one.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "gadgets/io/nifti/frame_times.hpp"
#include "gadgets/io/tracer.hpp"
#include "kernels/types/modality.hpp"
#include "kernels/types/post_filter.hpp"
#include "kernels/types/quantity.hpp"

namespace tofstream {

struct BidsImage {
  FrameTimes times;  // from the scan's start; empty: not known
  const Quantity* quantity = nullptr;  // null: not known
  Modality modality = Modality::unknown;
  PostFilters filters;  // that were applied to it
  Tracer tracer;
  std::string scan_start;  // "2026-03-01T09:30:00"; empty: not known
  std::string method;      // of reconstruction, such as "OSEM"; empty: not known
  std::vector<std::pair<std::string, double>> settings = {};  // of the method: {"iterations", 3}
  nlohmann::ordered_json more = nlohmann::ordered_json::object();  // what else the user says: see read_bids_details
};

/// A JSON object with keys of BIDS that this program cannot know. Throws std::invalid_argument, one line that names the
/// file: not JSON, no object, or a key whose value is the program's to say (times, unit, decay).
nlohmann::ordered_json read_bids_details(const std::filesystem::path& path);

/// Throws std::invalid_argument, one line, for an isotope or a time that is none, and for an isotope of another
/// modality.
void check_bids(const BidsImage& image);

/// Times are in s from TimeZero, which is the scan's start. Throws as check_bids does.
nlohmann::ordered_json bids_json(const BidsImage& image);

/// Writes it as image.json beside image.nii or image.nii.gz. The file appears by rename. Throws std::runtime_error
/// where it cannot be written, and as check_bids does.
void write_bids_json(const std::filesystem::path& file, const BidsImage& image);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
