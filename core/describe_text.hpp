// What the registry knows of gadgets, as text and as JSON: what `tofstream gadgets` prints.
#pragma once
#include <string>

#include <nlohmann/json.hpp>

#include "core/registry.hpp"

namespace tofstream {

// One line a gadget: name, kind, documentation.
std::string gadget_list_text(const Registry& known);

// All about one gadget: ports, parameters with type, default, limits and unit, and an example.
std::string gadget_text(const GadgetInfo& gadget);

// An example of the gadget in a pipeline: every required parameter, one line.
std::string gadget_example(const GadgetInfo& gadget);

nlohmann::ordered_json gadget_json(const GadgetInfo& gadget);
nlohmann::ordered_json gadget_list_json(const Registry& known);

}  // namespace tofstream
