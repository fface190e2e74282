// See yaml_text.hpp.
#include "tools/watch/yaml_text.hpp"

#include <algorithm>

#include <yaml-cpp/yaml.h>

namespace tofstream {

namespace {

using Json = nlohmann::ordered_json;

void emit(YAML::Emitter& yaml, const Json& value) {
  if (value.is_object()) {
    if (value.empty()) yaml << YAML::Flow;
    yaml << YAML::BeginMap;
    for (const auto& [key, inner] : value.items()) {
      yaml << YAML::Key << key << YAML::Value;
      emit(yaml, inner);
    }
    yaml << YAML::EndMap;
  } else if (value.is_array()) {
    if (std::ranges::none_of(value, [](const Json& item) { return item.is_structured(); })) yaml << YAML::Flow;
    yaml << YAML::BeginSeq;
    for (const Json& item : value) emit(yaml, item);
    yaml << YAML::EndSeq;
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (Json::accept(text)) yaml << YAML::DoubleQuoted;  // a text that would be read as a number or a truth value
    yaml << text;
  } else if (value.is_null()) {
    yaml << YAML::Null;
  } else {
    yaml << value.dump();
  }
}

}  // namespace

std::string yaml_text(const Json& value) {
  YAML::Emitter yaml;
  emit(yaml, value);
  return std::string(yaml.c_str(), yaml.size()) + "\n";
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
