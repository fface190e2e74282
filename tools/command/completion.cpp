// `tofstream completion bash|zsh`: a script by which the shell completes commands, options, gadgets and pipelines.
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gadgets/io/shared_files.hpp"
#include "tools/command/commands.hpp"

namespace tofstream::command {

namespace {

std::string long_options(const CLI::App& app) {
  std::string names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names += (names.empty() ? "--" : " --") + name;
  return names;
}

// What the first argument of a command may be: a command within it, or what its declaration names.
std::string words_for(const CLI::App& command) {
  std::string within;
  for (const CLI::App* inner : command.get_subcommands([](const CLI::App*) { return true; }))
    within += inner->get_name() + " ";
  if (!within.empty()) return within;
  const std::string pipelines = fmt::format("{}", fmt::join(shared_names("pipelines"), " "));
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    if (option->get_name() == "pipeline") return pipelines;
    if (command.get_name() == "gadgets") return "$(tofstream gadgets 2>/dev/null | cut -d\" \" -f1)";
    if (command.get_name() == "completion") return "bash zsh";
  }
  return "";
}

std::string bash_script(const CLI::App& app) {
  std::string commands, cases;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); })) {
    commands += (commands.empty() ? "" : " ") + command->get_name();
    cases += fmt::format("    {}) options=\"{}\"; words=\"{}\" ;;\n", command->get_name(), long_options(*command),
                         words_for(*command));
  }
  return fmt::format(
      R"(# Completion of tofstream, written by `tofstream completion`.
_tofstream() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" command="" options="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{COMP_WORDS[i]}}" in
      -*) ;;
      *) command="${{COMP_WORDS[i]}}"; break ;;
    esac
  done
  case "$command" in
    "") options="{}"; words="{}" ;;
{}  esac
  if [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$options --plugins" -- "$current"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    [ -n "$command" ] && COMPREPLY+=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _tofstream tofstream
)",
      long_options(app), commands, cases);
}

}  // namespace

void add_completion(CLI::App& app) {
  auto* command = app.add_subcommand("completion", "Print a script that completes commands in a shell");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
  command->footer("Example: source <(tofstream completion bash)");
  command->callback([&app, shell] {
    if (*shell == "zsh")
      fmt::print("autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n");
    fmt::print("{}", bash_script(app));
  });
}

}  // namespace tofstream::command
