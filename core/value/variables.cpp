#include "core/value/variables.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/value/document.hpp"

namespace tofstream {
namespace {

// A piece of a scalar: literal text, or a reference.
struct Piece {
  std::string text;  // the literal, or the variable's name
  bool is_reference = false;
  std::optional<std::string> fallback;
};

bool is_variable_name(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_inner = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && is_letter(text[0]) && std::ranges::all_of(text, is_inner);
}

constexpr int most_braces = 32;                           // one within the other
constexpr std::size_t most_text = std::size_t{16} << 20;  // that references add: variables can double each other

// The place of the brace that closes the one before `begin`; npos if there is none, or too many lie between.
std::size_t closing_brace(std::string_view text, std::size_t begin) {
  int open = 1;
  for (std::size_t i = begin; i < text.size() && open <= most_braces; ++i) {
    if (text[i] == '{') ++open;
    if (text[i] == '}' && --open == 0) return i;
  }
  return std::string_view::npos;
}

// The scalar in pieces; an empty result, and a sentence in `wrong`, if its references are malformed.
std::vector<Piece> pieces_of(std::string_view text, std::string& wrong) {
  std::vector<Piece> pieces;
  std::string literal;
  while (!text.empty()) {
    const std::size_t dollar = text.find("${");
    literal += text.substr(0, dollar);
    if (dollar == std::string_view::npos) break;
    if (dollar > 0 && text[dollar - 1] == '$') {  // $${ is a literal ${
      literal += '{';
      text.remove_prefix(dollar + 2);
      continue;
    }
    const std::size_t end = closing_brace(text, dollar + 2);
    if (end == std::string_view::npos) {
      wrong = fmt::format("'{}': a '${{' is not closed: write ${{name}}, or $${{ for a literal ${{",
                          text.substr(dollar, 40));
      return {};
    }
    const std::string_view inside = text.substr(dollar + 2, end - dollar - 2);
    const std::size_t mark = inside.find(":-");
    Piece piece{std::string(inside.substr(0, mark)), true, std::nullopt};
    if (mark != std::string_view::npos) piece.fallback = std::string(inside.substr(mark + 2));
    if (!is_variable_name(piece.text)) {
      wrong = fmt::format("'${{{}}}' names no variable: write ${{name}} or ${{name:-default}}", inside);
      return {};
    }
    if (!literal.empty()) pieces.push_back({std::exchange(literal, {}), false, std::nullopt});
    pieces.push_back(std::move(piece));
    text.remove_prefix(end + 1);
  }
  if (!literal.empty()) pieces.push_back({literal, false, std::nullopt});
  return pieces;
}

// Roughly the bytes that a copy of the value takes.
std::size_t weight(const Value& value) {
  std::size_t sum = sizeof(Value) + value.text.size();
  for (const Value& item : value.items) sum += weight(item);
  for (const Value::Entry& entry : value.entries) sum += entry.key.size() + weight(entry.value);
  return sum;
}

bool has_marks(const Value& value) {
  return value.kind == Value::Kind::scalar && value.text.find("${") != std::string::npos;
}

class Substitution {
 public:
  Substitution(const Value& own, const Value& given, const VariableNames& used, Problems& problems)
      : own_(own), given_(given), used_(used), problems_(problems) {}

  void replace(Value& value) {
    if (has_marks(value)) value = replaced(value);
    for (Value& item : value.items) replace(item);
    for (Value::Entry& entry : value.entries) replace(entry.value);
  }

  void report_unused() {
    std::vector<std::string> mentioned(used_.begin(), used_.end());
    for (const Value* variables : {&own_, &given_})
      for (const Value::Entry& entry : variables->entries)
        if (!used_.contains(entry.key))
          problems_.add(entry.where,
                        fmt::format("nothing uses variable '{}'{}", entry.key, did_you_mean(entry.key, mentioned)));
  }

 private:
  Value replaced(const Value& scalar) {
    std::string wrong;
    const std::vector<Piece> pieces = pieces_of(scalar.text, wrong);
    if (!wrong.empty()) {
      problems_.add_root_cause(scalar.where, wrong);
      return scalar;
    }
    if (pieces.size() == 1 && pieces[0].is_reference) return value_of(pieces[0], scalar).value_or(scalar);
    Value text = scalar;
    text.text.clear();
    for (const Piece& piece : pieces) text.text += piece.is_reference ? text_of(piece, scalar) : piece.text;
    return text;
  }

  std::string text_of(const Piece& piece, const Value& scalar) {
    const std::optional<Value> value = value_of(piece, scalar);
    if (!value) return "";
    if (value->kind != Value::Kind::scalar)
      problems_.add_root_cause(scalar.where,
                               fmt::format("variable '{0}' is {1}, which can only stand alone, as ${{{0}}}, not "
                                           "within a text",
                                           piece.text, value->in_words()));
    return value->text;
  }

  std::optional<Value> value_of(const Piece& piece, const Value& scalar) {
    used_.insert(piece.text);
    std::optional<Value> value;
    if (const Value* given = given_.find(piece.text))
      value = *given;
    else if (const Value* own = own_.find(piece.text))
      value = own_value(piece.text, *own, scalar);
    else if (piece.fallback)
      value = fallback_value(*piece.fallback, scalar);
    else
      report_unknown(piece.text, scalar);
    if (value && (spent_ += weight(*value)) > most_text) {
      problems_.add_root_cause(scalar.where, "variables make the pipeline too large: do they multiply each other?");
      return std::nullopt;
    }
    return value;
  }

  void report_unknown(const std::string& name, const Value& scalar) {
    std::vector<std::string> known;
    for (const Value* variables : {&own_, &given_})
      for (const Value::Entry& entry : variables->entries) known.push_back(entry.key);
    const std::string hint = did_you_mean(name, known);
    problems_.add_root_cause(scalar.where,
                             fmt::format("no variable is called '{0}'{1}", name,
                                         hint.empty() ? fmt::format(": declare it under 'variables', set it by --set "
                                                                    "variables.{0}=..., or write ${{{0}:-default}}",
                                                                    name)
                                                      : hint));
  }

  std::optional<Value> own_value(const std::string& name, const Value& own, const Value& scalar) {
    if (const auto known = known_.find(name); known != known_.end()) return known->second;
    if (std::ranges::find(open_, name) != open_.end()) {
      problems_.add_root_cause(scalar.where, fmt::format("variable '{}' refers to itself", name));
      return std::nullopt;
    }
    open_.push_back(name);
    Value value = own;
    replace(value);
    open_.pop_back();
    return known_.emplace(name, std::move(value)).first->second;
  }

  // A default that is a list or a map is read as YAML; anything else is a scalar as it stands.
  Value fallback_value(const std::string& text, const Value& scalar) {
    Value value = Value::scalar(text);
    if (text.starts_with('[') || text.starts_with('{')) {
      Problems wrong;
      value = parse_document(text, "default", wrong);
      for (const Problem& problem : wrong.all())
        problems_.add(scalar.where, "a variable's default: " + problem.message);
    }
    relocate(value, scalar.where);
    replace(value);
    return value;
  }

  const Value& own_;
  const Value& given_;
  VariableNames used_;
  Problems& problems_;
  std::map<std::string, Value, std::less<>> known_;
  std::vector<std::string> open_;
  std::size_t spent_ = 0;
};

bool is_variable_map(const Value& variables, Problems& problems) {
  if (variables.kind == Value::Kind::null) return true;
  if (variables.kind != Value::Kind::map) {
    problems.add(variables.where, "variables must be a map such as {dose: 5}, not " + variables.in_words());
    return false;
  }
  for (const Value::Entry& entry : variables.entries)
    if (!is_variable_name(entry.key))
      problems.add(entry.where,
                   fmt::format("'{}' cannot name a variable: letters, digits and _, not first a digit", entry.key));
  return true;
}

}  // namespace

void collect_variable_uses(const Value& value, VariableNames& names) {
  if (has_marks(value)) {
    std::string wrong;
    for (const Piece& piece : pieces_of(value.text, wrong)) {
      if (!piece.is_reference) continue;
      names.insert(piece.text);
      if (piece.fallback) collect_variable_uses(Value::scalar(*piece.fallback), names);
    }
  }
  for (const Value& item : value.items) collect_variable_uses(item, names);
  for (const Value::Entry& entry : value.entries) collect_variable_uses(entry.value, names);
}

void substitute_variables(Value& document, const Value& given, const VariableNames& used, Problems& problems) {
  Value own = Value::map();
  if (const Value* declared = document.find("variables"))
    if (is_variable_map(*declared, problems)) own = *declared;
  std::erase_if(document.entries, [](const Value::Entry& entry) { return entry.key == "variables"; });
  Substitution substitution(own, given, used, problems);
  substitution.replace(document);
  substitution.report_unused();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
