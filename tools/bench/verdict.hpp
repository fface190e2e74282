// How benchmarks judge their results. A row may have `accurate` (against the double-precision reference) and `holds`
// (everything that its line requires); if one is false, the command ends with exit code 1.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tofstream::command {

/// The largest accepted normalised RMS deviation from the double-precision reference, over the voxels that either
/// touches (share/benchmarks/README.md).
inline constexpr double nrms_bound = 1e-5;

inline bool is_accurate(double nrms) {
  return nrms <= nrms_bound;  // false for NaN
}

/// The rows that do not hold, by the texts of their `name_keys`.
inline std::vector<std::string> failures(const nlohmann::ordered_json& rows,
                                         const std::vector<std::string>& name_keys) {
  std::vector<std::string> failed;
  const auto is_false = [](const nlohmann::ordered_json& row, const char* key) {
    return row.contains(key) && row[key].is_boolean() && !row[key].get<bool>();
  };
  for (const auto& row : rows) {
    if (!is_false(row, "holds") && !is_false(row, "accurate")) continue;
    std::string name;
    for (const std::string& key : name_keys) {
      if (!row.contains(key) || row[key].is_null()) continue;
      if (!name.empty()) name += ' ';
      name += row[key].is_string() ? row[key].get<std::string>() : row[key].dump();
    }
    failed.push_back(name);
  }
  return failed;
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
