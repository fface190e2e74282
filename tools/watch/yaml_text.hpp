// JSON written as YAML, for people.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace tofstream {

/// The value as a YAML document; lists of plain values stand on one line.
std::string yaml_text(const nlohmann::ordered_json& value);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
