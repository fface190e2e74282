// Configuration values and figures as JSON.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "core/gadget/context.hpp"
#include "core/value/value.hpp"

namespace tofstream {

// Plain scalars that read as booleans or numbers become such; the order of keys is kept.
nlohmann::ordered_json to_json(const Value& value);

// JSON has no NaN and no infinity: they become null.
nlohmann::ordered_json to_json(const Figure& figure);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
