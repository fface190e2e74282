// See suggestions.hpp.
#include "tools/command/suggestions.hpp"

#include <exception>
#include <optional>
#include <utility>

#include "core/gadget/registry.hpp"
#include "core/pipeline/pipeline.hpp"
#include "gadgets/io/shared_files.hpp"
#include "tools/command/shared_lines.hpp"

namespace tofstream::command {

namespace {

std::optional<Pipeline> named_pipeline(const Given& given) {
  for (const char* name : {"pipeline", "--pipeline"}) {
    const auto found = given.find(name);
    if (found == given.end()) continue;
    try {
      return load_pipeline(find_shared("pipelines", found->second));
    } catch (const std::exception&) {  // a shell that completes says nothing of mistakes
      return {};
    }
  }
  return {};
}

std::vector<std::string> values_of(const ParamInfo& parameter) {
  if (parameter.type_info.kind == TypeInfo::Kind::boolean) return {"true", "false"};
  return parameter.choices;
}

// A parameter, or those within it, and their values where these are few.
void add_settings(const std::string& outer, const ParamInfo& parameter, Suggestions& settings) {
  const std::string name = outer + "." + parameter.name;
  for (const ParamInfo& field : parameter.fields) add_settings(name, field, settings);
  if (!parameter.fields.empty()) return;
  settings.push_back({name + "=", parameter.rules.doc});
  for (const std::string& value : values_of(parameter)) settings.push_back({name + "=" + value, ""});
}

}  // namespace

Suggest suggest_shared(std::string kind) {
  return [kind = std::move(kind)](const Given&) {
    Suggestions suggestions;
    for (const SharedLine& line : shared_lines(kind)) suggestions.push_back({line.name, line.words});
    return suggestions;
  };
}

Suggestions suggest_gadgets(const Given&) {
  Suggestions suggestions;
  for (const GadgetInfo* gadget : registry().all()) suggestions.push_back({gadget->name, gadget->doc});
  return suggestions;
}

Suggestions suggest_settings(const Given& given) {
  Suggestions settings;
  if (const auto pipeline = named_pipeline(given))
    for (const PipelineGadget& gadget : pipeline->gadgets)
      for (const ParamInfo& parameter : gadget.info->params) add_settings(gadget.name, parameter, settings);
  return settings;
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
