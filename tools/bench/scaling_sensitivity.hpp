// The sensitivity of a scanner by one GPU of a host and by several that share it, for `tofstream-bench scaling`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "kernels/project/list_mode_projector.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::command {

/// Seconds of a lattice of about `pairs` of the scanner's pairs of detectors (all, if it has no more), without
/// attenuation: a row for each number of ranks, of which the first is 1, with its share of the ideal. `make` gives a
/// projector on the current device. Throws InputError where a lattice of so few pairs would be too coarse.
nlohmann::ordered_json sensitivity_rows(const Scanner& scanner, std::int64_t pairs, const std::vector<int>& ranks,
                                        const std::function<std::unique_ptr<ListModeProjector>()>& make);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
