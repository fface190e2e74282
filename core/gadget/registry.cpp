#include "core/gadget/registry.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/gadget/runtime_keys.hpp"

namespace tofstream {

namespace {

// What YAML, --set and a shell take without quotes.
bool is_name(std::string_view name) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz", others = "0123456789_";
  return !name.empty() && letters.find(name.front()) != std::string_view::npos &&
         std::ranges::all_of(name, [&](char c) {
           return letters.find(c) != std::string_view::npos || others.find(c) != std::string_view::npos;
         });
}

}  // namespace

std::string_view kind_name(GadgetKind kind) {
  switch (kind) {
    case GadgetKind::source:
      return "source";
    case GadgetKind::pure:
      return "pure";
    case GadgetKind::stateful:
      return "stateful";
    case GadgetKind::sink:
      return "sink";
  }
  return "";
}

const std::vector<std::string>& gadget_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> names;
    for (const RuntimeKey& key : runtime_keys) names.emplace_back(key.name);
    return names;
  }();
  return keys;
}

void Registry::add(GadgetInfo info) {
  if (capture_) {
    capture_->gadgets.push_back(std::move(info));
    return;
  }
  for (std::string& problem : problems_of(info)) problems_.push_back(std::move(problem));
  if (find(info.name)) return;
  const auto place = std::ranges::lower_bound(gadgets_, info.name, {}, [](const auto& g) { return g->name; });
  gadgets_.insert(place, std::make_unique<const GadgetInfo>(std::move(info)));
}

void Registry::add(Extension extension) {
  if (capture_)
    capture_->extensions.push_back(std::move(extension));
  else if (std::string problem = extension.problem(); !problem.empty())
    problems_.push_back(std::move(problem));
  else
    extension.add();
}

std::vector<std::string> Registry::problems_of(const GadgetInfo& info) const {
  if (const GadgetInfo* first = find(info.name))
    return {fmt::format("two gadgets are named '{}'{}: rename one", info.name,
                        first->origin.empty() ? "" : " (the other is of " + first->origin + ")")};
  std::vector<std::string> found;
  static const std::vector<std::string> edge_settings{"policy", "messages", "bytes", "disk_bytes", "spill_folder"};
  if (!is_name(info.name))
    found.push_back(
        fmt::format("gadget '{}': its name must be small letters, digits and underscores, a letter first, such as "
                    "energy_window",
                    info.name));
  if (info.name == "pipeline") found.emplace_back("a gadget may not be named 'pipeline': that is a nested pipeline");
  for (const PortInfo& port : info.inputs)
    if (info.inputs.size() > 1 && std::ranges::find(edge_settings, port.name) != edge_settings.end())
      found.push_back(
          fmt::format("gadget '{}': an input may not be named '{}', a setting of its edge", info.name, port.name));
  for (const ParamInfo& param : info.params) {
    if (std::ranges::find(gadget_keys(), param.name) != gadget_keys().end())
      found.push_back(
          fmt::format("gadget '{}': a parameter may not be named '{}', a key of the runtime", info.name, param.name));
    if (param.rules.is_required) continue;
    Problems wrong;
    param.read(info.default_params().get(), {param.default_value, param.name, wrong, param.rules});
    for (const Problem& problem : wrong.all())
      found.push_back(fmt::format("gadget '{}': default of {}", info.name, problem.message));
  }
  return found;
}

Registered Registry::captured(const std::function<void()>& load) {
  struct Capture {
    explicit Capture(Registered*& place) : place_(place) { place_ = &registered; }
    ~Capture() { place_ = nullptr; }
    Registered registered;
    Registered*& place_;
  } capture(capture_);
  load();
  return std::move(capture.registered);
}

void Registry::note_absent(std::string name, std::string why) {
  absent_.emplace(std::move(name), std::move(why));
}

std::string Registry::why_absent(std::string_view name) const {
  const auto it = absent_.find(name);
  return it == absent_.end() ? "" : ": " + it->second;
}

const GadgetInfo* Registry::find(std::string_view name) const {
  const auto it = std::ranges::find(gadgets_, name, [](const auto& g) -> std::string_view { return g->name; });
  return it == gadgets_.end() ? nullptr : it->get();
}

std::vector<const GadgetInfo*> Registry::all() const {
  std::vector<const GadgetInfo*> all;
  for (const auto& gadget : gadgets_) all.push_back(gadget.get());
  return all;
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> names;
  for (const auto& gadget : gadgets_) names.push_back(gadget->name);
  return names;
}

Registry& registry() {
  static Registry all;
  return all;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
