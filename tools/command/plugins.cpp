// Plug-ins on the command line: where they are looked for, which were skipped, and the list of `gadgets --plugins`.
#include "core/plugin/plugins.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/printable.hpp"
#include "tools/command/commands.hpp"

namespace tofstream::command {

namespace {

// One process parses one command line: its folders, what was found in them, and the option that lists it.
struct Session {
  const Option* list = nullptr;
  std::vector<std::filesystem::path> folders;
  PluginScan scan;
};

Session& session() {
  static Session one;
  return one;
}

Option& add_folders(Command& command, const char* words) {
  return command
      .add_option(
          "--plugins",
          [](const std::vector<std::string>& folders) {
            for (const std::string& folder : folders)  // `gadgets --plugins` without one gives an empty text
              if (!folder.empty()) session().folders.emplace_back(folder);
          },
          words)
      .value_name("DIR");
}

// Commands that name no gadget need not wait for libraries, nor warn of them.
bool uses_gadgets(const Command& program) {
  static constexpr std::array without{"inspect", "compare",    "analyse",    "view",
                                      "mu-map",  "new-gadget", "completion", "reference"};
  return std::ranges::none_of(program.commands(), [](const Command& command) {
    return command.is_given() && std::ranges::find(without, command.name()) != without.end();
  });
}

}  // namespace

void add_plugins(Program& program) {
  add_folders(program, "A folder of plug-ins; may be given several times, and TOFSTREAM_PLUGIN_PATH adds more")
      .one_a_time();
  program.before_run([&program] {
    if (!uses_gadgets(program)) return;
    session().scan = load_plugins(plugin_folders(session().folders));
    if (session().list && session().list->is_given()) return;  // it says it all
    for (const std::string& line : session().scan.warnings()) print_printable(stderr, "tofstream: {}\n", line);
  });
}

const Option& add_plugin_list(Command& command) {
  Option& list = add_folders(command, "List plug-ins, loaded and skipped; a folder to look in may follow");
  session().list = &list;
  return list.expected(0, 1);
}

void print_plugins(bool json) {
  const PluginScan& scan = session().scan;
  if (json) {
    nlohmann::ordered_json plugins = nlohmann::ordered_json::array();
    for (const Plugin& plugin : scan.plugins) {
      nlohmann::ordered_json one{
          {"file", plugin.file.string()}, {"loaded", plugin.loaded()}, {"gadgets", plugin.gadgets}};
      if (!plugin.version.empty()) one.update({{"version", plugin.version}, {"compiler", plugin.compiler}});
      if (!plugin.loaded()) one["problem"] = plugin.problem;
      plugins.push_back(std::move(one));
    }
    fmt::print("{}\n", nlohmann::ordered_json{{"plugins", plugins}, {"problems", scan.problems}}.dump(2));
    return;
  }
  for (const Plugin& plugin : scan.plugins) {
    const std::string built =
        plugin.version.empty() ? "" : fmt::format(" (tofstream {}, {})", plugin.version, plugin.compiler);
    if (plugin.loaded())
      print_printable(stdout, "{}\n  loaded{}: {}\n", plugin.file.string(), built,
                      fmt::format("{}", fmt::join(plugin.gadgets, ", ")));
    else
      print_printable(stdout, "{}\n  skipped{}: it {}\n", plugin.file.string(), built, plugin.problem);
  }
  for (const std::string& problem : scan.problems) print_printable(stdout, "{}\n", problem);
  if (!scan.plugins.empty()) return;
  std::vector<std::string> looked;
  for (const auto& folder : plugin_folders(session().folders)) looked.push_back(folder.string());
  print_printable(stdout, "no plug-in found{}\n",
                  looked.empty() ? ": name a folder by --plugins or TOFSTREAM_PLUGIN_PATH"
                                 : fmt::format(" in {}", fmt::join(looked, ", ")));
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
