// `tofstream completion SHELL` prints a script by which a shell completes the command's words. The script asks
// `tofstream complete`, so that one text knows commands, options and values for every shell.
#include <algorithm>
#include <map>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "tools/command/commands.hpp"

namespace tofstream::command {

namespace {

// What the words before the last one are.
struct Typed {
  const Command* command = nullptr;  // the innermost
  const Option* open = nullptr;      // the option whose value is the last word
  std::size_t positionals = 0;
  Given given;
};

template <class Where>
const Option* find_option(const Command& command, Where where) {
  const auto option = std::ranges::find_if(command.options(), where);
  return option == command.options().end() ? nullptr : &*option;
}

const Option* named_option(const Command& program, const Command& command, const std::string& word) {
  const auto is_named = [&](const Option& option) {
    const auto is = [&](const char* dashes) {
      return [&, dashes](const std::string& n) { return dashes + n == word; };
    };
    return std::ranges::any_of(option.long_names(), is("--")) || std::ranges::any_of(option.short_names(), is("-"));
  };
  const Option* option = find_option(command, is_named);
  return option ? option : find_option(program, is_named);
}

// The positional argument of this number; a list at the end takes all that follow.
const Option* positional(const Command& command, std::size_t number) {
  const Option* last = nullptr;
  for (const Option& option : command.options()) {
    if (!option.is_positional()) continue;
    last = &option;
    if (number-- == 0) return last;
  }
  return last && last->takes_many() ? last : nullptr;
}

Typed read(const Command& program, const std::vector<std::string>& words) {
  Typed typed{.command = &program};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (typed.open) {
      typed.given[typed.open->name()] = word;
      typed.open = nullptr;
    } else if (word.starts_with("-")) {
      const Option* option = named_option(program, *typed.command, word);
      if (option && option->takes_value()) typed.open = option;
    } else if (const auto inner = std::ranges::find(typed.command->commands(), word, &Command::name);
               inner != typed.command->commands().end()) {
      typed.command = &*inner;
    } else {
      if (const Option* option = positional(*typed.command, typed.positionals)) typed.given[option->name()] = word;
      ++typed.positionals;
    }
  }
  return typed;
}

Suggestions option_suggestions(const Command& command) {
  Suggestions suggestions;
  for (const Option& option : command.options())
    if (!option.is_hidden())
      for (const std::string& name : option.long_names()) suggestions.push_back({"--" + name, option.words()});
  return suggestions;
}

Suggestions command_suggestions(const Command& command) {
  Suggestions suggestions;
  for (const Command& inner : command.commands())
    if (!inner.is_hidden()) suggestions.push_back({inner.name(), inner.words()});
  return suggestions;
}

void print(const Suggestions& suggestions, const std::string& word) {
  const bool in_value = word.find('=') != std::string::npos;
  for (const Suggestion& one : suggestions) {
    if (!one.word.starts_with(word)) continue;
    const std::size_t mark = one.word.find('=');  // values are offered once their key is there
    if (mark != std::string::npos && (mark + 1 == one.word.size()) == in_value) continue;
    fmt::print("{}\t{}\n", one.word, one.words);
  }
}

// A suggestion a line, with its words behind a tab; ":files" where files are wanted too.
void complete(const Command& program, std::vector<std::string> words) {
  if (words.empty()) words.emplace_back();
  const std::string& last = words.back();
  const Typed typed = read(program, words);
  const Option* option = typed.open ? typed.open : positional(*typed.command, typed.positionals);
  if (!typed.open && last.starts_with("-")) {
    print({{"--help", "What it does, and its options"}}, last);
    print(option_suggestions(*typed.command), last);
    if (typed.command != &program) print(option_suggestions(program), last);
  } else if (!typed.open && !typed.command->commands().empty()) {
    print(command_suggestions(*typed.command), last);
  } else if (option) {
    print(option->suggestions(typed.given), last);
    if (option->takes_files()) fmt::print(":files\n");
  }
}

constexpr const char* bash_script = R"(# Completion of tofstream, written by `tofstream completion bash`.
_tofstream() {
  local line="${COMP_LINE:0:COMP_POINT}" words word help files
  read -ra words <<<"$line"
  [[ "$line" == *" " ]] && words+=("")
  local current="${words[-1]}"
  COMPREPLY=()
  while IFS=$'\t' read -r word help; do
    if [ "$word" = ":files" ]; then
      mapfile -t files < <(compgen -f -- "$current")
      COMPREPLY+=("${files[@]}")
    else
      COMPREPLY+=("$word")
      [[ "$word" == *= ]] && compopt -o nospace 2>/dev/null
    fi
  done < <(tofstream complete -- "${words[@]:1}" 2>/dev/null)
  # A reply stands in place of what follows the last '=' or ':'.
  COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*[=:]}"}"}")
}
complete -o filenames -F _tofstream tofstream
)";

constexpr const char* zsh_script = R"(#compdef tofstream
# Completion of tofstream, written by `tofstream completion zsh`.
_tofstream() {
  local -a plain keys
  local word help files=0
  while IFS=$'\t' read -r word help; do
    case "$word" in
      :files) files=1 ;;
      *=) keys+=("${word//:/\\:}:$help") ;;
      *) plain+=("${word//:/\\:}:$help") ;;
    esac
  done < <(tofstream complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  (( $#plain )) && _describe -t words 'word' plain
  (( $#keys )) && _describe -t keys 'parameter' keys -S ''
  (( files )) && _files
  return 0
}
if [ "$funcstack[1]" = "_tofstream" ]; then
  _tofstream "$@"
else
  (( $+functions[compdef] )) || { autoload -U compinit && compinit }
  compdef _tofstream tofstream
fi
)";

constexpr const char* fish_script = R"(# Completion of tofstream, written by `tofstream completion fish`.
function __tofstream_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -e before[1]
    for reply in (tofstream complete -- $before "$current" 2>/dev/null)
        if test "$reply" = ":files"
            __fish_complete_path "$current"
        else
            printf '%s\n' $reply
        end
    end
end
complete -c tofstream -f -a '(__tofstream_complete)'
)";

}  // namespace

void add_completion(Command& app) {
  auto& command = app.add_command("completion", "Print a script that completes commands in a shell");
  auto shell = std::make_shared<std::string>();
  command.add_option("shell", *shell, "bash, zsh or fish").required().one_of({"bash", "zsh", "fish"});
  command.footer(
      "Examples: source <(tofstream completion bash)\n"
      "          tofstream completion fish | source\n"
      "An installed tofstream has the scripts where the shells look for them.");
  command.on_run([shell] {
    static const std::map<std::string, const char*> scripts{
        {"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
    fmt::print("{}", scripts.at(*shell));
  });
}

void add_complete(Command& app) {
  auto& command = app.add_command("complete", "What the last of these words may become");
  command.hide();  // for the shells' scripts
  auto words = std::make_shared<std::vector<std::string>>();
  command.add_option("words", *words, "Those behind the program's name");
  command.on_run([&app, words] { complete(app, *words); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
