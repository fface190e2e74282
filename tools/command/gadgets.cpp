// `tofstream gadgets [NAME]`: what a pipeline can use, as the gadgets declare themselves.
#include <memory>

#include <fmt/format.h>

#include "core/describe_text.hpp"
#include "core/registry.hpp"
#include "core/value.hpp"
#include "tools/command/commands.hpp"

namespace tofstream::command {

namespace {

struct Options {
  std::string name;
  bool json = false, markdown = false;
  const CLI::Option* plugins = nullptr;
};

std::string limits_text(const Limits& limits) {
  if (!limits.any()) return "";
  if (std::isinf(limits.hi)) return fmt::format("{} {:g}", limits.open_lo ? "more than" : "at least", limits.lo);
  return fmt::format("{}{:g}, {:g}]", limits.open_lo ? "(" : "[", limits.lo, limits.hi);
}

std::string default_text(const ParamInfo& param) {
  if (param.rules.is_required) return "required";
  const Value& value = param.default_value;
  if (value.kind == Value::Kind::scalar) return value.text.empty() ? "none" : value.text;
  if (value.kind != Value::Kind::sequence) return value.kind == Value::Kind::null ? "none" : "";
  std::string text;
  for (const Value& item : value.items) text += (text.empty() ? "" : ", ") + item.text;
  return "[" + text + "]";
}

// A parameter and the fields of a nested one, by dotted names.
void flatten(const std::vector<ParamInfo>& params, const std::string& prefix,
             std::vector<std::pair<std::string, const ParamInfo*>>& all) {
  for (const ParamInfo& param : params) {
    if (param.fields.empty())
      all.emplace_back(prefix + param.name, &param);
    else
      flatten(param.fields, prefix + param.name + ".", all);
  }
}

std::vector<std::pair<std::string, const ParamInfo*>> flat(const GadgetInfo& gadget) {
  std::vector<std::pair<std::string, const ParamInfo*>> all;
  flatten(gadget.params, "", all);
  return all;
}

std::string ports_text(const std::vector<PortInfo>& ports) {
  std::string text;
  for (const PortInfo& port : ports) {
    if (!text.empty()) text += ", ";
    text += port.name.empty() || ports.size() == 1 ? port.payload->name
                                                   : fmt::format("{}: {}", port.name, port.payload->name);
    if (port.is_feedback) text += " (feedback)";
  }
  return text.empty() ? "none" : text;
}

void print_markdown(const GadgetInfo& gadget) {
  fmt::print("## {}\n\n{}.\n\nKind: {}. Takes: {}. Gives: {}.\n\n", gadget.name, gadget.doc, kind_name(gadget.kind),
             ports_text(gadget.inputs), ports_text(gadget.outputs));
  if (gadget.params.empty()) return;
  fmt::print("| parameter | default | unit | limits | meaning |\n|---|---|---|---|---|\n");
  for (const auto& [name, param] : flat(gadget)) {
    std::string limits = limits_text(param->rules.limits);
    if (!param->choices.empty()) limits = fmt::format("{}", fmt::join(param->choices, ", "));
    fmt::print("| `{}` | {} | {} | {} | {} |\n", name, default_text(*param), param->rules.unit, limits,
               param->rules.doc);
  }
  fmt::print("\n");
}

void show(const Options& options) {
  if (options.plugins->count() > 0 && options.name.empty()) return print_plugins(options.json);
  std::vector<const GadgetInfo*> gadgets = registry().all();
  if (!options.name.empty()) {
    const GadgetInfo* one = registry().find(options.name);
    if (!one)
      throw InputError(
          fmt::format("there is no gadget '{}'{}", options.name, did_you_mean(options.name, registry().names())));
    gadgets = {one};
  }
  if (options.json) {
    fmt::print("{}\n", (options.name.empty() ? gadget_list_json(registry()) : gadget_json(*gadgets.front())).dump(2));
  } else if (options.markdown) {
    fmt::print("# Gadgets\n\nWritten by `tofstream gadgets --markdown` from the gadgets' own declarations.\n\n");
    for (const GadgetInfo* gadget : gadgets) print_markdown(*gadget);
  } else {
    fmt::print("{}", options.name.empty() ? gadget_list_text(registry()) : gadget_text(*gadgets.front()));
  }
}

}  // namespace

void add_gadgets(CLI::App& app) {
  auto* command = app.add_subcommand("gadgets", "List gadgets, or show one's ports and parameters");
  auto options = std::make_shared<Options>();
  command->add_option("name", options->name, "A gadget");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--markdown", options->markdown, "Print the reference page");
  options->plugins = add_plugin_list(*command);
  command->footer("Example: tofstream gadgets tor_projector");
  command->callback([options] { show(*options); });
}

}  // namespace tofstream::command
