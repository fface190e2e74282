// The JSON Schema of pipeline files (draft-07, which editors' YAML extensions take), from the same declarations that
// read them: an editor completes gadgets, keys and values, shows their documentation and marks what is wrong.
#pragma once
#include <nlohmann/json.hpp>

#include "core/gadget/registry.hpp"

namespace tofstream {

// The schema for the gadgets of `known`. It accepts every file that `check` accepts whose gadgets are known; what needs
// more than one place to see (names in `from`, payload types, cycles) is left to `check`.
nlohmann::ordered_json pipeline_schema(const Registry& known);

// The schema of one parameter: type, limits, choices, default, and its documentation with the unit. A text that holds
// ${variable} is accepted for every scalar and list.
nlohmann::ordered_json param_schema(const ParamInfo& param);

}  // namespace tofstream
