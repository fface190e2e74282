// CLI11 behind command_line.hpp.
#include "tools/command/command_line.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <type_traits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "core/base/did_you_mean.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

template <class Number>
std::optional<Number> read_whole(const std::string& text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return {};
  return value;
}

// Rewrites 1e6 as 1000000, as YAML takes it too. The reason where the text is no number of the type, else nothing.
template <std::integral Number>
std::string to_whole(std::string& text) {
  if (read_whole<Number>(text)) return {};
  double value = 0;
  constexpr double exact = 9007199254740992;  // 2^53: doubles below it are every whole number
  if (!CLI::detail::lexical_cast(text, value) || std::trunc(value) != value || std::abs(value) > exact)
    return fmt::format("'{}' is no whole number", text);
  const std::string digits = fmt::format("{:.0f}", value);
  if (!read_whole<Number>(digits))
    return fmt::format("{} is not from {} to {}", text, std::numeric_limits<Number>::min(),
                       std::numeric_limits<Number>::max());
  text = digits;
  return {};
}

std::string to_real(std::string& text) {
  double value = 0;
  return CLI::detail::lexical_cast(text, value) ? "" : fmt::format("'{}' is no number", text);
}

// What a value is made of: a number, of those that may be absent and of lists too.
template <class Value>
struct Element {
  using type = Value;
};
template <class Value>
struct Element<std::optional<Value>> : Element<Value> {};
template <class Value>
struct Element<std::vector<Value>> : Element<Value> {};

// A short name as it was typed, where the error has the long one.
std::string as_typed(std::string error, const Command& command, const std::vector<std::string>& line) {
  for (const Option& option : command.options()) {
    const std::string name = option.name();
    if (!error.starts_with(name + ":") && !error.starts_with(name + " ")) continue;
    for (const std::string& letter : option.short_names())
      if (std::ranges::any_of(line, [&](const std::string& word) { return word.starts_with("-" + letter); }))
        return "-" + letter + error.substr(name.size());
  }
  return error;
}

std::vector<std::string> option_names(const Command& command) {
  std::vector<std::string> names{"--help"};
  for (const Option& option : command.options())
    if (!option.is_hidden())
      for (const std::string& name : option.long_names()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> command_names(const Command& command) {
  std::vector<std::string> names;
  for (const Command& inner : command.commands())
    if (!inner.is_hidden()) names.push_back(inner.name());
  return names;
}

const Command* given_within(const Command& command) {
  const auto inner = std::ranges::find_if(command.commands(), &Command::is_given);
  return inner == command.commands().end() ? nullptr : &*inner;
}

// What is wrong with words that nobody takes.
std::string unknown_words(const std::vector<std::string>& words, const Command& program, const Command& chosen) {
  const auto option = std::ranges::find_if(words, [](const std::string& word) { return word.starts_with("-"); });
  if (!chosen.commands().empty() && option != words.begin())
    return fmt::format("there is no command '{}'{}", words.front(), did_you_mean(words.front(), command_names(chosen)));
  if (option == words.end()) return fmt::format("'{}' is one argument too many", words.front());
  const std::string name = option->substr(0, option->find('='));
  std::vector<std::string> known = option_names(chosen);
  std::ranges::copy(option_names(program), std::back_inserter(known));
  std::string nearest = did_you_mean(name, known);
  for (const std::string& shorter : known)  // --output for --out
    if (nearest.empty() && name.starts_with(shorter)) nearest = did_you_mean(shorter, {shorter});
  return fmt::format("there is no option '{}'{}", name, nearest);
}

}  // namespace

Option& Option::required() {
  option_.required();
  return *this;
}

Option& Option::within(std::int64_t low, std::int64_t high) {
  option_.check(CLI::Range(low, high));
  return *this;
}

Option& Option::within(double low, double high) {
  option_.check(CLI::Range(low, high));
  return *this;
}

Option& Option::positive() {
  option_.check(CLI::PositiveNumber);
  return *this;
}

Option& Option::not_negative() {
  option_.check(CLI::NonNegativeNumber);
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& values) {
  option_.check(CLI::IsMember(values));
  return suggests(values);
}

Option& Option::suggests(const std::vector<std::string>& values) {
  takes_files_ = false;
  suggest_ = [values](const Given&) {
    Suggestions suggestions;
    for (const std::string& value : values) suggestions.push_back({value, ""});
    return suggestions;
  };
  return *this;
}

Option& Option::suggests(Suggest values) {
  suggest_ = std::move(values);
  return *this;
}

Option& Option::expected(int values) {
  option_.expected(values);
  return *this;
}

Option& Option::expected(int least, int most) {
  option_.expected(least, most);
  return *this;
}

Option& Option::one_a_time() {
  option_.allow_extra_args(false);
  return *this;
}

Option& Option::separated_by(char mark) {
  option_.delimiter(mark);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_.excludes(&other.option_);
  return *this;
}

Option& Option::value_name(const char* name) {
  option_.type_name(name);
  return *this;
}

Option& Option::shows_default() {
  option_.capture_default_str();
  return *this;
}

Option& Option::shows_default(const char* text) {
  option_.default_str(text);
  return *this;
}

Option& Option::hide() {
  option_.group("");
  return *this;
}

bool Option::is_given() const {
  return option_.count() > 0;
}

bool Option::is_hidden() const {
  return option_.get_group().empty();
}

bool Option::is_positional() const {
  return option_.get_positional();
}

bool Option::takes_value() const {
  return option_.get_items_expected_max() > 0;
}

bool Option::takes_many() const {
  return option_.get_items_expected_max() > 1;
}

Option& Option::takes_no_files() {
  takes_files_ = false;
  return *this;
}

std::string Option::name() const {
  return option_.get_name(is_positional());
}

std::vector<std::string> Option::short_names() const {
  return option_.get_snames();
}

std::vector<std::string> Option::long_names() const {
  return option_.get_lnames();
}

std::string Option::value_words() const {
  return option_.get_type_name();
}

std::string Option::words() const {
  return option_.get_description();
}

Command& Command::add_command(const char* name, const char* words) {
  // Owned by the program's, as CLI11 has it.
  return commands_.emplace_back(std::shared_ptr<CLI::App>(app_, app_->add_subcommand(name, words)));
}

template <class Value>
Option& Command::add_option(const char* names, Value& value, const char* words) {
  CLI::Option* option = app_->add_option(names, value, words);
  using Number = typename Element<Value>::type;  // or text
  if constexpr (std::is_integral_v<Number>)
    option->transform(CLI::Validator(to_whole<Number>, ""));
  else if constexpr (std::is_floating_point_v<Number>)
    option->transform(CLI::Validator(to_real, ""));
  return keep(option, !std::is_arithmetic_v<Number>);
}

Option& Command::add_option(const char* names, std::function<void(const std::vector<std::string>&)> take,
                            const char* words) {
  return keep(app_->add_option_function<std::vector<std::string>>(names, take, words), true);
}

Option& Command::add_flag(const char* names, bool& value, const char* words) {
  return keep(app_->add_flag(names, value, words));
}

Option& Command::add_flag(const char* names, std::function<void()> given, const char* words) {
  return keep(app_->add_flag_callback(names, given, words));
}

void Command::footer(const std::string& words) {
  app_->footer(words);
}

void Command::on_run(std::function<void()> action) {
  app_->callback(action);
}

void Command::needs_command() {
  app_->require_subcommand(1);
}

void Command::takes_anything() {
  app_->fallthrough(false);
  app_->allow_extras();
}

void Command::hide() {
  app_->group("");
}

bool Command::is_given() const {
  return app_->parsed();
}

bool Command::is_hidden() const {
  return app_->get_group().empty();
}

std::string Command::name() const {
  return app_->get_name();
}

std::string Command::words() const {
  return app_->get_description();
}

std::string Command::footer() const {
  return app_->get_footer();
}

std::string Command::help(const std::string& name) const {
  // App::help() would show the command that runs.
  return app_->get_formatter()->make_help(app_.get(), name, CLI::AppFormatMode::Normal);
}

Program::Program(const char* name, const char* words) : Command(std::make_shared<CLI::App>(words, name)) {
  app_->fallthrough();  // the program's options may follow the command
  app_->require_subcommand(1);
}

void Program::version(std::function<std::string()> text) {
  keep(app_->set_version_flag("--version", std::move(text)));
}

void Program::before_run(std::function<void()> action) {
  app_->parse_complete_callback(action);
}

std::string Program::what_is_wrong(const std::string& error, const std::vector<std::string>& line) const {
  const Command* chosen = this;
  std::string names = name();
  while (const Command* inner = given_within(*chosen)) {
    chosen = inner;
    names += " " + inner->name();
  }
  const std::vector<std::string> unknown = app_->remaining(true);
  return fmt::format("{}{} ({} --help)", chosen == this ? "" : chosen->name() + ": ",
                     unknown.empty() ? as_typed(error, *chosen, line) : unknown_words(unknown, *this, *chosen), names);
}

void Program::run(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    app_->exit(asked);
  } catch (const CLI::ParseError& error) {
    throw InputError(what_is_wrong(error.what(), {argv + 1, argv + argc}));
  }
}

// The types of options' values.
template Option& Command::add_option(const char*, std::string&, const char*);
template Option& Command::add_option(const char*, std::filesystem::path&, const char*);
template Option& Command::add_option(const char*, int&, const char*);
template Option& Command::add_option(const char*, std::int64_t&, const char*);
template Option& Command::add_option(const char*, std::uint64_t&, const char*);
template Option& Command::add_option(const char*, float&, const char*);
template Option& Command::add_option(const char*, double&, const char*);
template Option& Command::add_option(const char*, std::optional<std::string>&, const char*);
template Option& Command::add_option(const char*, std::optional<std::int64_t>&, const char*);
template Option& Command::add_option(const char*, std::optional<std::uint64_t>&, const char*);
template Option& Command::add_option(const char*, std::optional<double>&, const char*);
template Option& Command::add_option(const char*, std::vector<std::string>&, const char*);
template Option& Command::add_option(const char*, std::vector<std::filesystem::path>&, const char*);
template Option& Command::add_option(const char*, std::vector<int>&, const char*);
template Option& Command::add_option(const char*, std::vector<float>&, const char*);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
