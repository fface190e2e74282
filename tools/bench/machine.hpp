// What a result was measured on.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace tofstream::command {

/// Processor, cores, GPU and program version of this machine, with the commit.
nlohmann::ordered_json machine();

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
