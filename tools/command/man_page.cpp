// The manual page: see man_page.hpp. The macros are those of man(7).
#include "tools/command/man_page.hpp"

#include <fmt/format.h>

#include "core/base/version.hpp"

namespace tofstream::command {

namespace {

// Text for roff: backslashes and hyphens stand for themselves, and no line is taken for a macro.
std::string plain(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool begins_line = result.empty() || result.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  return result;
}

std::string bold(const std::string& text) {
  return "\\fB" + plain(text) + "\\fR";
}

// "-o,--out FILE", or the name of a positional argument.
std::string option_heading(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) names += (names.empty() ? "" : ", ") + bold("-" + name);
  for (const std::string& name : option.get_lnames()) names += (names.empty() ? "" : ", ") + bold("--" + name);
  if (names.empty()) return "\\fI" + plain(option.get_name(true)) + "\\fR";
  return option.get_items_expected_max() > 0 ? names + " \\fI" + plain(option.get_type_name()) + "\\fR" : names;
}

std::string options_of(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty() || option == command.get_help_ptr()) continue;
    text += fmt::format(".TP\n{}\n{}\n", option_heading(*option), plain(option->get_description()));
  }
  return text;
}

// Examples and what else stands below the options, line by line as written.
std::string footer_of(const CLI::App& command) {
  const std::string footer = command.get_footer();
  return footer.empty() ? "" : fmt::format(".PP\n.nf\n{}\n.fi\n", plain(footer));
}

// The visible commands within `app`, each followed by those within it.
std::string commands_of(const CLI::App& app, const std::string& names) {
  std::string text;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); })) {
    const std::string name = names + command->get_name();
    text += fmt::format(".SS {}\n{}.\n{}{}", plain(name), plain(command->get_description()), options_of(*command),
                        footer_of(*command));
    text += commands_of(*command, name + " ");
  }
  return text;
}

}  // namespace

std::string man_page(const CLI::App& app) {
  return fmt::format(
      ".\\\" Written by `tofstream reference --man` from the command's own declarations.\n"
      ".TH TOFSTREAM 1 \"\" \"tofstream {}\" \"User Commands\"\n.nh\n.ad l\n"
      ".SH NAME\ntofstream \\- reconstruct emission tomography from a stream of list\\-mode events\n"
      ".SH SYNOPSIS\n.B tofstream\n.I COMMAND\n.RI [ OPTIONS ]\n"
      ".SH DESCRIPTION\n{}\n{}{}"
      ".SH COMMANDS\n{}"
      ".SH EXIT STATUS\n.TP\n0\nDone.\n.TP\n1\nFailed while running.\n.TP\n2\nWrong input; nothing was started.\n"
      ".TP\n130\nAborted.\n",
      version(), plain(app.get_description()), options_of(app), footer_of(app), commands_of(app, ""));
}

}  // namespace tofstream::command
