// Cui et al.'s figures 3, 5 and 6 and tables I to V measured on this machine's GPU, beside the paper's numbers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tofstream::command {

struct TorTable {
  std::string name, title;
  std::vector<nlohmann::ordered_json> rows;  // objects with the same keys; null where there is no number
};

struct TorTableSettings {
  std::int64_t events = 1'000'000;  // in place of the paper's million
  int repeats = 21;
};

/// A table's name and what measures it.
struct TorTableMaker {
  std::string name;
  std::function<TorTable(const TorTableSettings&)> measure;
};
/// figure_3, figure_5, figure_6, table_1 to table_5, sort.
const std::vector<TorTableMaker>& paper_tables();

/// Not in the paper: the CPU and each CUDA path on 75x75x26 voxels with T_w 3.
TorTable measure_paths(const TorTableSettings& settings);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
