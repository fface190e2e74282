// What an image's values are, as JSON: for the provenance of images, checkpoints and the live page.
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "kernels/types/quantity.hpp"

namespace tofstream {

/// For people and programs: unit, quantitative, not_quantitative (why not), corrections {name: {state, how}}, of decay
/// also half_life_s and reference_time_s where they are known; and what else from_json needs.
nlohmann::ordered_json to_json(const Quantity& quantity);

/// What to_json made. Throws nlohmann::json::exception for anything else.
Quantity quantity_from_json(const nlohmann::ordered_json& json);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
