// Requests read and written: see control_message.hpp. What they do is in control_answer.cpp.
#include "tools/watch/control_message.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/gadget/value_json.hpp"
#include "core/value/document.hpp"

namespace tofstream {

namespace {

using Json = nlohmann::ordered_json;

constexpr int deepest = 16;  // values of parameters are lists of maps at most; what nests without end is no request

constexpr std::array<std::pair<std::string_view, ControlAction>, 5> actions{{{"status", ControlAction::status},
                                                                             {"parameters", ControlAction::parameters},
                                                                             {"set", ControlAction::set},
                                                                             {"stop", ControlAction::stop},
                                                                             {"abort", ControlAction::abort}}};

Json parse_json(std::string_view line) {
  const auto shallow = [](int depth, Json::parse_event_t, Json&) {
    if (depth > deepest) throw BadRequest(fmt::format("the request nests deeper than {}", deepest));
    return true;
  };
  try {
    return Json::parse(line, shallow);
  } catch (const Json::exception&) {  // whose words quote what came
    throw BadRequest("the request is no JSON: send one object a line");
  }
}

ControlAction action_of(const Json& request) {
  const auto found = request.find("do");
  if (found == request.end() || !found->is_string())
    throw BadRequest("the request has no \"do\": status, parameters, set, stop or abort");
  for (const auto& [name, action] : actions)
    if (found->get_ref<const std::string&>() == name) return action;
  throw BadRequest("\"do\" is none of status, parameters, set, stop, abort");
}

std::string text_member(const Json& request, const char* key) {
  const auto found = request.find(key);
  if (found == request.end() || !found->is_string()) throw BadRequest(fmt::format("set needs \"{}\", a text", key));
  return found->get<std::string>();
}

// JSON is YAML, which is what parameters are read from.
Value value_of(const Json& request) {
  const auto found = request.find("value");
  if (found == request.end()) throw BadRequest("set needs \"value\"");
  Problems problems;
  Value value = parse_document(found->dump(), "control", problems);
  if (!problems.empty()) throw BadRequest("\"value\" cannot be read: " + problems.all().front().message);
  return value;
}

void require_known_keys(const Json& request, bool sets) {
  for (const auto& [key, unused] : request.items()) {
    const bool known =
        key == "version" || key == "do" || (sets && (key == "gadget" || key == "parameter" || key == "value"));
    if (!known)
      throw BadRequest(sets ? "a key is none of version, do, gadget, parameter, value"
                            : "a key is none of version, do");
  }
}

}  // namespace

ControlRequest parse_control_request(std::string_view line) {
  const Json json = parse_json(line);
  if (!json.is_object()) throw BadRequest("the request is no JSON object");
  const auto version = json.find("version");
  if (version == json.end() || *version != control_version)
    throw BadRequest(fmt::format("\"version\" is not {}, which is what this program speaks", control_version));
  ControlRequest request{.action = action_of(json)};
  const bool sets = request.action == ControlAction::set;
  require_known_keys(json, sets);
  if (!sets) return request;
  request.gadget = text_member(json, "gadget");
  request.parameter = text_member(json, "parameter");
  request.value = value_of(json);
  return request;
}

std::string control_request_line(const ControlRequest& request) {
  Json json{{"version", control_version}};
  for (const auto& [name, action] : actions)
    if (action == request.action) json["do"] = name;
  if (request.action == ControlAction::set) {
    json["gadget"] = request.gadget;
    json["parameter"] = request.parameter;
    json["value"] = to_json(request.value);
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json refuse_control_request(std::string_view why) {
  return {{"version", control_version}, {"ok", false}, {"errors", {std::string(why)}}};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
