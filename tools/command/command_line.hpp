// What a program takes on its command line: commands and their options, declared by name, type, words and default.
// CLI11 reads the line. command_line.cpp alone includes it, since its headers take seven seconds to compile.
#pragma once

#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tofstream::command {

/// What a shell may put in a word's place, with a line of explanation.
struct Suggestion {
  std::string word, words;
};
using Suggestions = std::vector<Suggestion>;
/// What a line that is being typed has so far: values of options and positional arguments, by their names.
using Given = std::map<std::string, std::string>;
using Suggest = std::function<Suggestions(const Given&)>;

/// An option, a flag or a positional argument. Limits refuse a value before the command runs.
class Option {
 public:
  explicit Option(CLI::Option& option, bool takes_files = false) : option_(option), takes_files_(takes_files) {}

  Option& required();
  Option& within(std::int64_t low, std::int64_t high);
  Option& within(double low, double high);
  template <std::integral Low, std::integral High>
  Option& within(Low low, High high) {
    return within(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high));
  }
  Option& positive();
  Option& not_negative();
  Option& one_of(const std::vector<std::string>& values);
  Option& suggests(const std::vector<std::string>& values);  // others are taken too
  Option& suggests(Suggest values);
  Option& takes_no_files();               // so none is suggested
  Option& expected(int values);           // so many, no fewer and no more
  Option& expected(int least, int most);  // 0 at least: a flag that a value may follow
  Option& one_a_time();                   // each value has the option's name before it
  Option& separated_by(char mark);
  Option& excludes(const Option& other);
  Option& value_name(const char* name);  // in place of the type's, such as TEXT
  Option& shows_default();               // the variable's value at the declaration
  Option& shows_default(const char* text);
  Option& hide();  // no help shows it

  bool is_given() const;
  bool is_hidden() const;
  bool is_positional() const;
  bool takes_value() const;
  bool takes_many() const;
  bool takes_files() const { return takes_files_; }
  std::string name() const;                      // "--out", or a positional argument's
  std::vector<std::string> short_names() const;  // without the dash
  std::vector<std::string> long_names() const;   // without the dashes
  std::string value_words() const;               // what help says of its values: type and limits
  std::string words() const;
  Suggestions suggestions(const Given& given) const { return suggest_ ? suggest_(given) : Suggestions(); }

 private:
  CLI::Option& option_;
  bool takes_files_;
  Suggest suggest_;
};

/// A command, or the program itself. Variables that options are added for hold the defaults, and live as long as the
/// command.
class Command {
 public:
  explicit Command(std::shared_ptr<CLI::App> app) : app_(std::move(app)) {}
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  Command& add_command(const char* name, const char* words);
  /// `names` is "-o,--out", or a positional argument's name. Value is one of the types at the end of
  /// command_line.cpp: text, path, number (a whole one may be 1e6), those that may be absent, and lists of them.
  template <class Value>
  Option& add_option(const char* names, Value& value, const char* words);
  /// An option of texts, which are handed to a function.
  Option& add_option(const char* names, std::function<void(const std::vector<std::string>&)> take, const char* words);
  Option& add_flag(const char* names, bool& value, const char* words);
  Option& add_flag(const char* names, std::function<void()> given, const char* words);

  void footer(const std::string& words);  // examples and exit codes, below the options
  void on_run(std::function<void()> action);
  void needs_command();   // one of those within it
  void takes_anything();  // whatever follows is passed over
  void hide();            // not in the list of commands

  bool is_given() const;
  bool is_hidden() const;
  std::string name() const;
  std::string words() const;
  std::string footer() const;
  std::string help(const std::string& name) const;  // as --help prints it, under this name
  const std::deque<Option>& options() const { return options_; }
  const std::deque<Command>& commands() const { return commands_; }

 protected:
  Option& keep(CLI::Option* option, bool takes_files = false) { return options_.emplace_back(*option, takes_files); }

  const std::shared_ptr<CLI::App> app_;

 private:
  std::deque<Option> options_;
  std::deque<Command> commands_;
};

/// A program, whose line is one of its commands with options.
class Program : public Command {
 public:
  Program(const char* name, const char* words);

  void version(std::function<std::string()> text);  // what --version prints
  void before_run(std::function<void()> action);

  /// Reads the line and runs what it asks for; --help and --version print. Throws InputError where the line is wrong,
  /// and what the command throws.
  void run(int argc, char** argv);

 private:
  std::string what_is_wrong(const std::string& error, const std::vector<std::string>& line) const;
};

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
