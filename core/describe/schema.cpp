#include "core/describe/schema.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/gadget/runtime_keys.hpp"
#include "core/gadget/value_json.hpp"
#include "core/pipeline/pipeline.hpp"

namespace tofstream {
namespace {

using Json = nlohmann::ordered_json;
using Kind = TypeInfo::Kind;

// A bound as an integer if it is one, so that editors show 4096 and not 4096.0.
Json bound(double x) {
  constexpr double exact = 9007199254740992.0;  // 2^53
  if (std::trunc(x) == x && std::abs(x) <= exact) return static_cast<std::int64_t>(x);
  return x;
}

// JSON Schema's keywords speak of one type each: a minimum of numbers, a pattern of texts. So `type: [number, string]`
// with both says it all in one schema, and a validator's message names what is wrong. patternErrorMessage is what
// editors show; validators pass over it.
Json or_variable(Json schema, std::vector<std::string> types) {
  const std::string wanted = types[0];
  types.emplace_back("string");
  Json all{{"type", types},
           {"pattern", "\\$\\{"},
           {"patternErrorMessage", fmt::format("Wanted: {}, or a ${{variable}}.", wanted)}};
  all.update(schema);
  return all;
}

void add_limits(const ParamRules& rules, double lo, double hi, Json& schema) {
  const Limits& limits = rules.limits;
  if (std::isfinite(limits.lo) && limits.lo >= lo)
    schema[limits.open_lo ? "exclusiveMinimum" : "minimum"] = bound(limits.lo);
  else if (std::isfinite(lo))
    schema["minimum"] = bound(lo);
  hi = std::min(hi, limits.hi);
  if (std::isfinite(hi)) schema["maximum"] = bound(hi);
}

Json struct_schema(const std::vector<ParamInfo>& fields) {
  Json schema{{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
  for (const ParamInfo& field : fields) {
    schema["properties"][field.name] = param_schema(field);
    if (field.rules.is_required) schema["required"].push_back(field.name);
  }
  return schema;
}

// A text is the word, or a variable: the pattern says nothing of maps.
Json or_word(Json schema, const char* word) {
  schema["type"] = {"object", "string"};
  schema["pattern"] = fmt::format("^{}$|\\$\\{{", word);
  schema["patternErrorMessage"] = fmt::format("Wanted: {} or a map, or a ${{variable}}.", word);
  return schema;
}

Json type_schema(const TypeInfo& type, const ParamInfo& param) {
  Json schema = Json::object();
  switch (type.kind) {
    case Kind::boolean:
      return or_variable(Json::object(), {"boolean"});
    case Kind::integer:
    case Kind::number:
      add_limits(param.rules, type.lo, type.hi, schema);
      return or_variable(std::move(schema), {type.kind == Kind::integer ? "integer" : "number"});
    case Kind::text:
    case Kind::choice:
      if (param.choices.empty()) return {{"type", {"string", "number", "boolean"}}};  // YAML's plain 5 is a text too
      return {{"anyOf", {{{"enum", param.choices}}, {{"type", "string"}, {"pattern", "\\$\\{"}}}}};
    case Kind::list:
      schema["items"] = type_schema(type.element[0], param);
      if (type.size) schema.update({{"minItems", *type.size}, {"maxItems", *type.size}});
      if (!param.rules.is_one_for_all) return or_variable(std::move(schema), {"array"});
      add_limits(param.rules, type.element[0].lo, type.element[0].hi, schema);
      return or_variable(std::move(schema), {"array", "number"});
    case Kind::map:
      if (*type.default_word) return or_word(struct_schema(param.fields), type.default_word);
      return struct_schema(param.fields);
    case Kind::anything:
      break;
  }
  return schema;
}

// An absent value of an optional parameter, and an empty map, may be written `~`.
Json or_null(Json schema) {
  if (schema.contains("anyOf")) {
    schema["anyOf"].push_back({{"type", "null"}});
  } else {
    if (!schema["type"].is_array()) schema["type"] = Json::array({schema["type"]});
    schema["type"].push_back("null");
  }
  return schema;
}

Json reference(const std::string& definition) {
  return {{"$ref", "#/definitions/" + definition}};
}

Json with_text(const char* description, Json schema) {
  Json all{{"description", description}};
  all.update(schema);
  return all;
}

Json settings_schema(const std::vector<ParamInfo>& params, const char* description) {
  Json schema{{"description", description}, {"type", {"object", "null"}}, {"properties", Json::object()}};
  for (const ParamInfo& param : params) schema["properties"][param.name] = param_schema(param);
  schema["additionalProperties"] = false;
  return schema;
}

Json text_list() {
  return {{"type", "array"}, {"items", {{"type", "string"}}}, {"minItems", 1}};
}

// The writers of one input: NAME, or a list of names.
Json writers_schema() {
  return {{"anyOf", {{{"type", "string"}}, text_list()}}};
}

Json from_schema(const GadgetInfo& gadget) {
  Json by_name{{"type", "object"}};
  if (gadget.specialise) {  // its inputs depend on its parameters
    by_name["additionalProperties"] = reference("writers");
  } else {
    std::vector<std::string> ports;
    for (const PortInfo& port : gadget.inputs) {
      ports.push_back(port.name + ": NAME");
      by_name["properties"][port.name] = with_text(port.payload->name.c_str(), reference("writers"));
      if (!port.is_optional) by_name["required"].push_back(port.name);
    }
    by_name["additionalProperties"] = false;
    by_name["title"] = fmt::format("{{{}}}", fmt::join(ports, ", "));  // stands in editors' messages
  }
  Json forms = Json::array({std::move(by_name)});
  const bool is_one_needed = std::ranges::count(gadget.inputs, false, &PortInfo::is_optional) == 1;
  if (gadget.inputs.size() <= 1 || is_one_needed || gadget.specialise) {
    forms.push_back({{"type", "string"}});
    forms.push_back(text_list());
  }
  return {{"description", runtime_key_doc("from")}, {"anyOf", std::move(forms)}};
}

Json edge_schema(const GadgetInfo& gadget) {
  constexpr const char* text = runtime_key_doc("edge");
  if (gadget.inputs.size() < 2 && !gadget.specialise) return with_text(text, reference("edge"));
  Json schema = settings_schema(detail::infos_of<EdgeSettings>(), text);
  if (gadget.specialise) schema["additionalProperties"] = reference("edge");
  for (const PortInfo& port : gadget.inputs) schema["properties"][port.name] = reference("edge");
  return schema;
}

template <class E>
Json choice_schema(const char* description, E usual) {
  return {{"description", description},
          {"anyOf", {{{"enum", detail::enum_choices<E>()}}, reference("variable")}},
          {"default", detail::write_value(usual).text}};
}

// The runtime's keys that make sense for the gadget.
Json runtime_properties(const GadgetInfo& gadget) {
  Json properties{{"use", true}};
  const bool may_read = !gadget.inputs.empty() || gadget.specialise;
  if (may_read) {
    properties["from"] = from_schema(gadget);
    properties["edge"] = edge_schema(gadget);
    properties["merge"] = choice_schema(runtime_key_doc("merge"), MergeOrder::unordered);
  }
  if (gadget.inputs.size() > 1 || gadget.specialise)
    properties["join"] = choice_schema(runtime_key_doc("join"), JoinMode::in_order);
  if (gadget.kind == GadgetKind::pure && !gadget.own_thread) properties["parallel"] = reference("parallel");
  properties["fault"] = reference("fault");
  return properties;
}

Json gadget_schema(const GadgetInfo& gadget) {
  Json schema{{"description", gadget.doc}, {"type", "object"}, {"properties", runtime_properties(gadget)}};
  for (const ParamInfo& param : gadget.params) schema["properties"][param.name] = param_schema(param);
  schema["additionalProperties"] = false;
  return schema;
}

Json nested_schema() {
  return {
      {"description", "Another pipeline in this place; its gadgets are called NAME/inner"},
      {"type", "object"},
      {"properties",
       {{"use", true},
        {"file", {{"type", "string"}, {"description", "The pipeline file, relative to this one"}}},
        {"from",
         {{"description", "What its inputs read, by their names where it has several"},
          {"anyOf",
           {{{"type", "string"}}, text_list(), {{"type", "object"}, {"additionalProperties", reference("writers")}}}}}},
        {"variables", {{"type", {"object", "null"}}, {"description", "Values for its ${variables}"}}}}},
      {"required", {"file"}},
      {"additionalProperties", false}};
}

Json when_used(const Json& names, Json then) {
  return {{"if", {{"type", "object"}, {"properties", {{"use", {{"enum", names}}}}}, {"required", {"use"}}}},
          {"then", std::move(then)}};
}

// Any gadget: `use` picks the definition that the rest must meet.
Json any_gadget(const std::vector<const GadgetInfo*>& gadgets) {
  Json names = Json::array(), texts = Json::array(), choice = Json::array();
  for (const GadgetInfo* gadget : gadgets) {
    names.push_back(gadget->name);
    texts.push_back(fmt::format("{} ({})", gadget->doc, kind_name(gadget->kind)));
    choice.push_back(when_used({gadget->name}, reference("use_" + gadget->name)));
  }
  names.push_back("pipeline");
  texts.push_back("Another pipeline in this place");
  choice.push_back(when_used({"pipeline"}, reference("use_pipeline")));
  // markdownEnumDescriptions is read by the language servers of editors; validators pass over it.
  const Json use{{"description", runtime_key_doc("use")},
                 {"anyOf", {{{"enum", names}, {"markdownEnumDescriptions", texts}}, reference("variable")}}};
  return {{"type", {"object", "null"}}, {"properties", {{"use", use}}}, {"allOf", std::move(choice)}};
}

// A top-level key is a default of every gadget that declares it: any of their types.
Json shared_defaults(const std::vector<const GadgetInfo*>& gadgets) {
  std::map<std::string, std::vector<Json>> forms;
  for (const GadgetInfo* gadget : gadgets)
    for (const ParamInfo& param : gadget->params) {
      Json schema = param_schema(param);
      schema.erase("default");
      std::vector<Json>& known = forms[param.name];
      const auto same_but_text = [&](Json other) {
        other["description"] = schema["description"];
        return other == schema;
      };
      if (std::ranges::none_of(known, same_but_text)) known.push_back(std::move(schema));
    }
  Json properties = Json::object();
  for (const auto& [name, known] : forms) properties[name] = known.size() == 1 ? known[0] : Json{{"anyOf", known}};
  return properties;
}

// Required keys are asked only of a file that includes no other and is nested in none, since these may give them.
Json requirements(const std::vector<const GadgetInfo*>& gadgets) {
  std::map<std::string, Json> users;  // of each required key
  for (const GadgetInfo* gadget : gadgets) {
    const auto needs = [](const PortInfo& port) { return !port.is_optional; };
    if (!gadget->specialise && std::ranges::any_of(gadget->inputs, needs)) users["from"].push_back(gadget->name);
    for (const ParamInfo& param : gadget->params)
      if (param.rules.is_required) users[param.name].push_back(gadget->name);
  }
  const auto unless = [](const std::vector<std::string>& keys, Json gadget) -> Json {
    Json present = Json::array();
    for (const std::string& key : keys) present.push_back({{"required", {key}}});
    return {{"if", {{"not", {{"anyOf", present}}}}},
            {"then", {{"properties", {{"gadgets", {{"additionalProperties", std::move(gadget)}}}}}}}};
  };
  Json all = Json::array({unless({"include"}, {{"type", "object"}, {"required", {"use"}}})});
  for (const auto& [key, names] : users) {
    std::vector<std::string> givers{"include"};
    if (key != "from") givers.insert(givers.end(), {"inputs", key});
    all.push_back(unless(givers, when_used(names, {{"required", {key}}})));
  }
  return all;
}

Json top_level(const std::vector<const GadgetInfo*>& gadgets) {
  Json properties{
      {"pipeline", {{"type", {"string", "number"}}, {"description", "The pipeline's name in reports"}}},
      {"include",
       {{"description", "A file, or several, that this one is laid over: maps merge key by key"},
        {"anyOf", {{{"type", "string"}}, text_list()}}}},
      {"variables", {{"type", {"object", "null"}}, {"description", "Values for ${name} anywhere below"}}},
      {"inputs",
       {{"type", "array"},
        {"items", {{"type", "string"}}},
        {"description", "Of a pipeline within another: the names by which its gadgets read what is given to it"}}},
      {"outputs",
       {{"type", "object"},
        {"additionalProperties", {{"type", "string"}}},
        {"description", "Of a pipeline within another: what it gives, NAME: GADGET"}}},
      {"gadgets",
       {{"description", "What runs, NAME: {use: GADGET, from: NAME, ...}"},
        {"type", "object"},
        {"propertyNames", {{"pattern", "^[^. \\t/]+(/[^. \\t/]+)*$"}}},
        {"additionalProperties", reference("gadget")}}}};
  properties.update(shared_defaults(gadgets));
  return properties;
}

Json parallel_schema() {
  return {{"description", runtime_key_doc("parallel")},
          {"anyOf",
           {{{"type", "integer"}, {"minimum", 1}, {"maximum", 1024}}, {{"enum", {"auto"}}}, reference("variable")}},
          {"default", 1}};
}

}  // namespace

Json param_schema(const ParamInfo& param) {
  const ParamRules& rules = param.rules;
  std::string text = rules.doc;
  if (*rules.unit) text += fmt::format(" ({})", rules.unit);
  if (rules.is_live) text += "; may change while it runs";
  Json schema{{"description", text}};
  Json type = type_schema(param.type_info, param);
  if (param.type_info.is_optional || param.type_info.kind == Kind::map) type = or_null(std::move(type));
  schema.update(type);
  if (!rules.is_required && param.default_value.kind != Value::Kind::null)
    schema["default"] = to_json(param.default_value);
  return schema;
}

Json pipeline_schema(const Registry& known) {
  const std::vector<const GadgetInfo*> gadgets = known.all();
  Json definitions{{"variable", {{"type", "string"}, {"pattern", "\\$\\{"}}},
                   {"writers", writers_schema()},
                   {"edge", settings_schema(detail::infos_of<EdgeSettings>(), "Bounds of an edge")},
                   {"fault", settings_schema(detail::infos_of<FaultSettings>(), runtime_key_doc("fault"))},
                   {"parallel", parallel_schema()},
                   {"gadget", any_gadget(gadgets)},
                   {"use_pipeline", nested_schema()}};
  for (const GadgetInfo* gadget : gadgets) definitions["use_" + gadget->name] = gadget_schema(*gadget);
  return {{"$schema", "http://json-schema.org/draft-07/schema#"},
          {"title", "tofstream pipeline"},
          {"description", "Written by `tofstream schema` from the gadgets' own declarations."},
          {"type", "object"},
          {"properties", top_level(gadgets)},
          {"additionalProperties", false},
          {"required", {"gadgets"}},
          {"allOf", requirements(gadgets)},
          {"definitions", std::move(definitions)}};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
