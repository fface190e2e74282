// `tofstream reference`: the reference page of the command, share/doc/reference/command.md, from its own help, or its
// manual page.
#include <memory>

#include <fmt/format.h>

#include "tools/command/commands.hpp"
#include "tools/command/deliver.hpp"
#include "tools/command/man_page.hpp"

namespace tofstream::command {

namespace {

// CLI11 ends its help by several ends of line.
std::string fenced(std::string help) {
  help.erase(help.find_last_not_of(" \n") + 1);
  help.erase(0, help.find_first_not_of(" \n"));
  std::string text;  // without blanks at the ends of lines
  for (const char c : help) {
    if (c == '\n') text.erase(text.find_last_not_of(' ') + 1);
    text += c;
  }
  return "```text\n" + text + "\n```\n";
}

// The visible commands within `outer`, each followed by those within it. `names` stand before its own.
std::string sections(const Command& outer, const std::string& names, std::string_view heading) {
  std::string text;
  for (const Command& command : outer.commands()) {
    if (command.is_hidden()) continue;
    const std::string name = fmt::format("{} {}", names, command.name());
    text += fmt::format("\n{} {}\n\n{}", heading, name, fenced(command.help(name)));
    text += sections(command, name, "###");
  }
  return text;
}

std::string page(const Command& program) {
  return fmt::format("# The command\n\nWritten by `tofstream reference` from the command's own `--help`.\n\n{}{}",
                     fenced(program.help("tofstream")), sections(program, "tofstream", "##"));
}

}  // namespace

void add_reference(Command& app) {
  auto& command = app.add_command("reference", "Write the reference page of the command");
  command.hide();  // for those who build tofstream; not in the list of commands
  auto file = std::make_shared<std::filesystem::path>();
  command.add_option("-o,--out", *file, "File to write (default: standard output)");
  auto man = std::make_shared<bool>(false);
  command.add_flag("--man", *man, "Write the manual page instead");
  command.footer("Example: tofstream reference -o share/doc/reference/command.md");
  command.on_run([&app, file, man] { deliver(*man ? man_page(app) : page(app), *file); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
