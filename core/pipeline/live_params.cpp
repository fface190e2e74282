#include "core/pipeline/live_params.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/value/known_names.hpp"

namespace tofstream {
namespace {

// Puts `value` at a dotted name below `map`.
void put(Value& map, std::string_view name, const Value& value) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) {
    map.set(name, value);
    return;
  }
  Value* inner = map.find(name.substr(0, dot));
  put(inner ? *inner : map.set(name.substr(0, dot), Value::map()), name.substr(dot + 1), value);
}

std::vector<std::string> live_names(const GadgetInfo& info) {
  std::vector<std::string> names;
  for (const ParamInfo& param : info.params)
    if (param.rules.is_live) names.push_back(param.name);
  return names;
}

}  // namespace

std::shared_ptr<const void> changed_params(const PipelineGadget& gadget, std::string_view name, const Value& value,
                                           Value& current, Problems& problems) {
  const GadgetInfo& info = *gadget.info;
  const std::string_view first = name.substr(0, name.find('.'));
  const auto param = std::ranges::find(info.params, first, &ParamInfo::name);
  if (param == info.params.end() || !param->rules.is_live) {
    const std::vector<std::string> changeable = live_names(info);
    const std::string which =
        changeable.empty() ? "it has none that may" : fmt::format("these may: {}", fmt::join(changeable, ", "));
    problems.add(value.where, param == info.params.end()
                                  ? fmt::format("{}: {} has no parameter '{}'{}", gadget.name, info.name, first,
                                                hint_or_names(first, changeable, {}, which))
                                  : fmt::format("{}: '{}' of {} cannot change while it runs; {}", gadget.name, first,
                                                info.name, which));
    return nullptr;
  }
  put(current, name, value);
  const std::shared_ptr<void> params = info.default_params();
  read_params(info.params, params.get(), {current, gadget.name, problems});
  return problems.empty() ? params : nullptr;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
