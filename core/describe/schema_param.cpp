// The schema of one parameter; see schema.hpp.
#include <cmath>

#include <fmt/format.h>

#include "core/describe/schema.hpp"
#include "core/gadget/value_json.hpp"

namespace tofstream {
namespace {

using Json = nlohmann::ordered_json;
using Kind = TypeInfo::Kind;

// A bound as an integer where it is one, so that editors show 4096 and not 4096.0.
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

}  // namespace tofstream
