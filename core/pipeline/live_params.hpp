// A parameter that changes while its gadget runs.
#pragma once
#include <memory>
#include <string_view>

#include "core/pipeline/pipeline.hpp"
#include "core/value/value.hpp"

namespace tofstream {

// The gadget's parameters after `name` (dotted if it lies in a map) was set to `value`: a new object of its Params.
// `current` holds all parameters as a map and is brought up to date. Null if a problem was added: there is no such
// parameter, it is not live, or the value is wrong.
std::shared_ptr<const void> changed_params(const PipelineGadget& gadget, std::string_view name, const Value& value,
                                           Value& current, Problems& problems);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
