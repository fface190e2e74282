// The JSON Schema of pipeline files (draft-07, which the YAML extensions of editors take), from the declarations by
// which these are read: an editor completes gadgets, keys and values, shows their documentation and marks mistakes.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "core/gadget/registry.hpp"

namespace tofstream {

// The schema for the gadgets of `known`. It accepts every file with known gadgets that `check` accepts. Mistakes that
// show only in several places together (names in `from`, payload types, cycles) are left to `check`.
nlohmann::ordered_json pipeline_schema(const Registry& known);

// The schema of one parameter: type, limits, choices, default, and its documentation with the unit. A text that holds
// ${variable} is accepted for every scalar and list.
nlohmann::ordered_json param_schema(const ParamInfo& param);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
