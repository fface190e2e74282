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
std::string option_heading(const Option& option) {
  std::string names;
  for (const std::string& name : option.short_names()) names += (names.empty() ? "" : ", ") + bold("-" + name);
  for (const std::string& name : option.long_names()) names += (names.empty() ? "" : ", ") + bold("--" + name);
  if (names.empty()) return "\\fI" + plain(option.name()) + "\\fR";
  return option.takes_value() ? names + " \\fI" + plain(option.value_words()) + "\\fR" : names;
}

std::string options_of(const Command& command) {
  std::string text;
  for (const Option& option : command.options())
    if (!option.is_hidden()) text += fmt::format(".TP\n{}\n{}\n", option_heading(option), plain(option.words()));
  return text;
}

// Examples and what else stands below the options, line by line as written.
std::string footer_of(const Command& command) {
  const std::string footer = command.footer();
  return footer.empty() ? "" : fmt::format(".PP\n.nf\n{}\n.fi\n", plain(footer));
}

// The visible commands within `outer`, each followed by those within it.
std::string commands_of(const Command& outer, const std::string& names) {
  std::string text;
  for (const Command& command : outer.commands()) {
    if (command.is_hidden()) continue;
    const std::string name = names + command.name();
    text +=
        fmt::format(".SS {}\n{}.\n{}{}", plain(name), plain(command.words()), options_of(command), footer_of(command));
    text += commands_of(command, name + " ");
  }
  return text;
}

}  // namespace

std::string man_page(const Command& program) {
  return fmt::format(
      ".\\\" Written by `tofstream reference --man` from the command's own declarations.\n"
      ".TH TOFSTREAM 1 \"\" \"tofstream {}\" \"User Commands\"\n.nh\n.ad l\n"
      ".SH NAME\ntofstream \\- reconstruct PET images from a stream of list\\-mode events\n"
      ".SH SYNOPSIS\n.B tofstream\n.I COMMAND\n.RI [ OPTIONS ]\n"
      ".SH DESCRIPTION\n{}\n{}{}"
      ".SH COMMANDS\n{}"
      ".SH EXIT STATUS\n.TP\n0\nDone.\n.TP\n1\nFailed while running.\n.TP\n2\nWrong input; nothing was started.\n"
      ".TP\n130\nAborted.\n",
      version(), plain(program.words()), options_of(program), footer_of(program), commands_of(program, ""));
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
