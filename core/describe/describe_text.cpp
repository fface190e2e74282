#include "core/describe/describe_text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/gadget/value_json.hpp"

namespace tofstream {
namespace {

using Json = nlohmann::ordered_json;

std::string param_text(const ParamInfo& param, int indent) {
  const ParamRules& rules = param.rules;
  std::vector<std::string> facts{param.choices.empty() ? param.type
                                                       : fmt::format("one of {}", fmt::join(param.choices, ", "))};
  if (rules.limits.any())
    facts.push_back(limits_in_words(rules.limits, rules.unit));
  else if (*rules.unit)
    facts.push_back(std::string("in ") + rules.unit);
  facts.emplace_back(rules.is_required ? "required" : "default " + flow_text(param.default_value));
  if (rules.is_live) facts.emplace_back("live");
  std::string text = fmt::format("{:{}}{:<24} {}\n{:{}}{:<24} ({})\n", "", indent, param.name, rules.doc, "", indent,
                                 "", fmt::join(facts, "; "));
  for (const ParamInfo& field : param.fields) text += param_text(field, indent + 2);
  return text;
}

Json param_json(const ParamInfo& param) {
  const ParamRules& rules = param.rules;
  Json json{{"name", param.name}, {"type", param.type}, {"doc", rules.doc}};
  if (*rules.unit) json["unit"] = rules.unit;
  if (std::isfinite(rules.limits.lo)) json[rules.limits.open_lo ? "greater_than" : "minimum"] = rules.limits.lo;
  if (std::isfinite(rules.limits.hi)) json["maximum"] = rules.limits.hi;
  if (!param.choices.empty()) json["choices"] = param.choices;
  json["required"] = rules.is_required;
  if (!rules.is_required) json["default"] = to_json(param.default_value);
  json["live"] = rules.is_live;
  for (const ParamInfo& field : param.fields) json["fields"].push_back(param_json(field));
  return json;
}

Json ports_json(const std::vector<PortInfo>& ports) {
  Json list = Json::array();
  for (const PortInfo& port : ports) {
    Json json{{"name", port.name}, {"payload", port.payload->name}};
    if (port.is_feedback) json["feedback"] = true;
    if (port.is_optional) json["optional"] = true;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

std::string flow_text(const Value& value) {
  std::vector<std::string> parts;
  switch (value.kind) {
    case Value::Kind::null:
      return "none";
    case Value::Kind::scalar:
      return value.text.empty() ? "\"\"" : value.text;
    case Value::Kind::sequence:
      for (const Value& item : value.items) parts.push_back(flow_text(item));
      return fmt::format("[{}]", fmt::join(parts, ", "));
    case Value::Kind::map:
      for (const Value::Entry& entry : value.entries) parts.push_back(entry.key + ": " + flow_text(entry.value));
      return fmt::format("{{{}}}", fmt::join(parts, ", "));
  }
  return "";
}

std::string ports_in_words(const std::vector<PortInfo>& ports, const GadgetInfo& gadget) {
  if (gadget.specialise) return "what its parameters say";
  std::vector<std::string> words;
  words.reserve(ports.size());
  for (const PortInfo& port : ports)
    words.push_back((ports.size() > 1 ? port.name + ": " : "") + port.payload->name +
                    (port.is_feedback ? " (feedback)" : "") + (port.is_optional ? " (optional)" : ""));
  return words.empty() ? "-" : fmt::format("{}", fmt::join(words, ", "));
}

std::string gadget_list_text(const Registry& known) {
  std::size_t width = 0;
  for (const GadgetInfo* gadget : known.all()) width = std::max(width, gadget->name.size());
  std::string text;
  for (const GadgetInfo* gadget : known.all())
    text += fmt::format("{:<{}}  {:<8}  {}\n", gadget->name, width, kind_name(gadget->kind), gadget->doc);
  return text;
}

std::string gadget_line(const GadgetInfo& gadget) {
  std::string line = fmt::format("{}: {{use: {}", "my_" + gadget.name, gadget.name);
  if (gadget.inputs.size() == 1) {
    line += ", from: NAME";
  } else if (gadget.inputs.size() > 1) {
    std::vector<std::string> ports;
    for (const PortInfo& port : gadget.inputs) ports.push_back(port.name + ": NAME");
    line += fmt::format(", from: {{{}}}", fmt::join(ports, ", "));
  }
  for (const ParamInfo& param : gadget.params)
    if (param.rules.is_required) line += fmt::format(", {}: ...", param.name);
  return line + "}";
}

std::string gadget_text(const GadgetInfo& gadget, const std::string& example) {
  std::string text =
      fmt::format("{}: {}\n  kind     {}{}\n  takes    {}\n  gives    {}\n  in YAML  {}\n", gadget.name, gadget.doc,
                  kind_name(gadget.kind), gadget.own_thread ? ", on a thread of its own" : "",
                  ports_in_words(gadget.inputs, gadget), ports_in_words(gadget.outputs, gadget), gadget_line(gadget));
  if (!gadget.origin.empty()) text += fmt::format("  plug-in  {}\n", gadget.origin);
  if (!gadget.params.empty()) text += "  parameters\n";
  for (const ParamInfo& param : gadget.params) text += param_text(param, 4);
  if (example.empty()) return text;
  text += "  example\n    ";
  for (const char c : example) text += c == '\n' ? std::string("\n    ") : std::string(1, c);
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

Json gadget_json(const GadgetInfo& gadget, const std::string& example) {
  Json params = Json::array();
  for (const ParamInfo& param : gadget.params) params.push_back(param_json(param));
  Json json{{"name", gadget.name},
            {"doc", gadget.doc},
            {"kind", kind_name(gadget.kind)},
            {"own_thread", gadget.own_thread},
            {"ports_depend_on_params", gadget.specialise != nullptr},
            {"inputs", ports_json(gadget.inputs)},
            {"outputs", ports_json(gadget.outputs)},
            {"params", std::move(params)},
            {"line", gadget_line(gadget)}};
  if (!gadget.origin.empty()) json["plugin"] = gadget.origin;
  if (!example.empty()) json["example"] = example;
  return json;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
