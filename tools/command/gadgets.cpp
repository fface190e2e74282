// `tofstream gadgets [NAME]`: what a pipeline can use, as the gadgets declare themselves.
#include <fstream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/describe/describe_markdown.hpp"
#include "core/describe/describe_text.hpp"
#include "core/gadget/registry.hpp"
#include "core/value/value.hpp"
#include "gadgets/io/shared_files.hpp"
#include "tools/command/commands.hpp"
#include "tools/command/suggestions.hpp"

namespace tofstream::command {

namespace {

struct GadgetsOptions {
  std::string name;
  bool json = false, markdown = false, python = false;
  const Option* plugins = nullptr;
};

// The pipeline that shows the gadget at work; empty for one of a plug-in, whose example lies with its author.
std::string example_of(const GadgetInfo& gadget) {
  if (!gadget.origin.empty()) return "";
  try {
    std::ifstream stream(find_shared_file("examples/gadgets/" + gadget.name + ".yaml"));
    std::string text;
    for (std::string line; std::getline(stream, line);)
      if (!line.starts_with("# yaml-language-server:")) text += line + "\n";  // names a schema beside the file
    return text;
  } catch (const std::runtime_error&) {
    return "";
  }
}

std::vector<const GadgetInfo*> wanted(const std::string& name) {
  if (name.empty()) return registry().all();
  if (const GadgetInfo* one = registry().find(name)) return {one};
  throw InputError(fmt::format("there is no gadget '{}'{}", name, did_you_mean(name, registry().names())));
}

void print_json(const std::vector<const GadgetInfo*>& gadgets, bool is_list) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const GadgetInfo* gadget : gadgets) list.push_back(gadget_json(*gadget, example_of(*gadget)));
  fmt::print("{}\n", (is_list ? list : list[0]).dump(2));
}

void print_markdown(const std::vector<const GadgetInfo*>& gadgets) {
  std::vector<std::string> with_example;
  for (const GadgetInfo* gadget : gadgets)
    if (!example_of(*gadget).empty()) with_example.push_back(gadget->name);
  fmt::print("{}", reference_markdown(gadgets, with_example));
}

void show(const GadgetsOptions& options) {
  if (options.python)
    return fmt::print("{}\n", find_shared_file("python/tofstream/__init__.py").parent_path().parent_path().string());
  if (options.plugins->is_given() && options.name.empty()) return print_plugins(options.json);
  const std::vector<const GadgetInfo*> gadgets = wanted(options.name);
  if (options.json)
    print_json(gadgets, options.name.empty());
  else if (options.markdown)
    print_markdown(gadgets);
  else if (options.name.empty())
    fmt::print("{}", gadget_list_text(registry()));
  else
    fmt::print("{}", gadget_text(*gadgets.front(), example_of(*gadgets.front())));
}

}  // namespace

void add_gadgets(Command& app) {
  auto& command = app.add_command("gadgets", "List gadgets, or show one's ports, parameters and an example");
  auto options = std::make_shared<GadgetsOptions>();
  command.add_option("name", options->name, "A gadget").suggests(suggest_gadgets).takes_no_files();
  command.add_flag("--json", options->json, "Print JSON");
  command.add_flag("--markdown", options->markdown, "Print the reference page");
  command.add_flag("--python", options->python,
                   "Print the folder of the Python package, for PYTHONPATH where gadgets in Python are tested");
  options->plugins = &add_plugin_list(command);
  command.footer("Example: tofstream gadgets tor_projector");
  command.on_run([options] { show(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
