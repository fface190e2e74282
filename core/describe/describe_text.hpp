// What the registry knows of gadgets, as text and as JSON: what `tofstream gadgets` prints.
#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/gadget/registry.hpp"

namespace tofstream {

// A line for each gadget: name, kind, documentation.
std::string gadget_list_text(const Registry& known);

// The gadget in a pipeline: every input and required parameter, one line.
std::string gadget_line(const GadgetInfo& gadget);

// All about one gadget: ports, parameters with type, default, limits and unit, and the pipeline `example` if there is
// one.
std::string gadget_text(const GadgetInfo& gadget, const std::string& example = {});
nlohmann::ordered_json gadget_json(const GadgetInfo& gadget, const std::string& example = {});

// The value as one line of YAML.
std::string flow_text(const Value& value);

// "events: subset, image: estimate (feedback)", "-" if there are none. The ports are those of `gadget`.
std::string ports_in_words(const std::vector<PortInfo>& ports, const GadgetInfo& gadget);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
