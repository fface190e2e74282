// Tables II to IV and the sweeps of fig. 4 of Ha et al. 2013 (references.md), measured by their two forms of one_stage
// and by ours, beside their figures.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "kernels/memory/memory.hpp"

namespace tofstream::command {

/// Prints the tables unless `quiet`, and gives them. Throws std::invalid_argument for the CPU: the paper's
/// forms are CUDA's.
nlohmann::ordered_json direct_paper_tables(Backend backend, int repeats, bool quiet);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
