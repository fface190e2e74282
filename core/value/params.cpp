#include "core/value/params.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tofstream {
namespace {

std::string number_text(double x) {
  return fmt::format("{}", x);
}

// The whole of `text` as a T; a leading '+' is allowed, as YAML has it.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T x{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return x;
}

bool within(const Value& v, const std::string& path, const ParamRules& rules, double x, Problems& problems) {
  if (rules.limits.contain(x)) return true;
  problems.add(v.where, fmt::format("{} must be {}, not {}", path, limits_in_words(rules.limits, rules.unit), v.text));
  return false;
}

// An integer as text, or as a real without a fraction (1e6) that a double holds exactly.
template <class T>
bool read_integer(const Value& v, const std::string& path, const ParamRules& rules, T lo, T hi, T& out,
                  Problems& problems) {
  constexpr double exact = 9007199254740992.0;  // 2^53
  std::optional<T> x;
  bool whole = false;
  if (v.kind == Value::Kind::scalar) {
    x = parse_number<T>(v.text);
    whole = !v.text.empty() && v.text.find_first_not_of("+-0123456789") == std::string::npos;
    if (const auto real = parse_number<double>(v.text); !x && real && std::trunc(*real) == *real) {
      whole = true;
      if (std::abs(*real) <= exact && (*real >= 0 || std::is_signed_v<T>)) x = static_cast<T>(*real);
    }
  }
  if (!x && !whole) {
    problems.add(v.where, fmt::format("{} must be an integer, not {}", path, v.in_words()));
    return false;
  }
  // What lies outside the declared limits is said by these, not by those of the C++ type.
  if (rules.limits.any() && whole && !within(v, path, rules, *parse_number<double>(v.text), problems)) return false;
  if (!x || *x < lo || *x > hi) {
    problems.add(v.where, fmt::format("{} must be in [{}, {}], not {}", path, lo, hi, v.text));
    return false;
  }
  out = *x;
  return true;
}

}  // namespace

std::string limits_in_words(const Limits& limits, const char* unit) {
  const std::string tail = *unit ? std::string(" ") + unit : "";
  if (std::isfinite(limits.lo) && std::isfinite(limits.hi))
    return fmt::format("in {}{}, {}]{}", limits.open_lo ? '(' : '[', number_text(limits.lo), number_text(limits.hi),
                       tail);
  if (std::isfinite(limits.lo))
    return fmt::format("{} {}{}", limits.open_lo ? "greater than" : "at least", number_text(limits.lo), tail);
  return fmt::format("at most {}{}", number_text(limits.hi), tail);
}

void read_params(const std::vector<ParamInfo>& params, void* object, const Value& map, const std::string& path,
                 Problems& problems) {
  if (map.kind != Value::Kind::map && map.kind != Value::Kind::null) {
    problems.add(map.where, fmt::format("{} must be a map, not {}", path, map.in_words()));
    return;
  }
  std::vector<std::string> known;
  for (const ParamInfo& param : params) known.push_back(param.name);
  constexpr std::size_t most_named = 12;
  for (const Value::Entry& entry : map.entries) {  // first, since a key that is misspelt is missing too
    if (std::ranges::find(known, entry.key) != known.end()) continue;
    std::string hint = did_you_mean(entry.key, known);
    if (hint.empty() && known.size() <= most_named) hint = fmt::format("; it knows {}", fmt::join(known, ", "));
    problems.add(entry.where, fmt::format("{}: unknown key '{}'{}", path, entry.key, hint));
  }
  for (const ParamInfo& param : params) {
    const std::string name = path.empty() ? param.name : path + "." + param.name;
    if (const Value* value = map.find(param.name)) {
      if (param.rules.is_required && value->kind == Value::Kind::scalar && value->text.empty())
        problems.add(value->where, fmt::format("{} is empty: {}", name, param.rules.doc));
      else
        param.read(object, *value, name, param.rules, problems);
    } else if (param.rules.is_required) {
      problems.add(map.where, fmt::format("{} is missing: {}", name, param.rules.doc));
    }
  }
}

Value write_params(const std::vector<ParamInfo>& params, const void* object) {
  Value map = Value::map();
  for (const ParamInfo& param : params) map.set(param.name, param.write(object));
  return map;
}

namespace {

void leave_key_params(const std::vector<ParamInfo>& params, Value& value) {
  for (Value& item : value.items) leave_key_params(params, item);
  for (const ParamInfo& param : params) {
    if (!param.rules.is_in_key)
      std::erase_if(value.entries, [&](const Value::Entry& entry) { return entry.key == param.name; });
    else if (Value* const nested = value.find(param.name))
      leave_key_params(param.fields, *nested);
  }
}

}  // namespace

Value write_key_params(const std::vector<ParamInfo>& params, const void* object) {
  Value all = write_params(params, object);
  leave_key_params(params, all);
  return all;
}

namespace detail {

bool read_bool(const Value& v, const std::string& path, bool& out, Problems& problems) {
  const bool is_true = v.text == "true" || v.text == "True" || v.text == "TRUE";
  const bool is_false = v.text == "false" || v.text == "False" || v.text == "FALSE";
  if (v.kind != Value::Kind::scalar || (!is_true && !is_false)) {
    problems.add(v.where, fmt::format("{} must be true or false, not {}", path, v.in_words()));
    return false;
  }
  out = is_true;
  return true;
}

bool read_signed(const Value& v, const std::string& path, const ParamRules& rules, std::int64_t lo, std::int64_t hi,
                 std::int64_t& out, Problems& problems) {
  return read_integer(v, path, rules, lo, hi, out, problems);
}

bool read_unsigned(const Value& v, const std::string& path, const ParamRules& rules, std::uint64_t hi,
                   std::uint64_t& out, Problems& problems) {
  return read_integer(v, path, rules, std::uint64_t{0}, hi, out, problems);
}

bool read_real(const Value& v, const std::string& path, const ParamRules& rules, double largest, double& out,
               Problems& problems) {
  std::optional<double> x;
  if (v.kind == Value::Kind::scalar) x = parse_number<double>(v.text);
  const bool not_finite =
      v.kind == Value::Kind::scalar && !v.quoted &&
      (v.text.ends_with(".inf") || v.text.ends_with(".nan") || v.text.ends_with(".NaN") || v.text.ends_with(".Inf"));
  if (not_finite || (x && (!std::isfinite(*x) || std::abs(*x) > largest))) {
    problems.add(v.where, fmt::format("{} must be a finite number, not {}", path, v.text));
    return false;
  }
  if (!x) {
    problems.add(v.where, fmt::format("{} must be a number, not {}", path, v.in_words()));
    return false;
  }
  if (!within(v, path, rules, *x, problems)) return false;
  out = *x;
  return true;
}

bool read_text(const Value& v, const std::string& path, const std::vector<std::string>& choices, std::string& out,
               Problems& problems) {
  if (v.kind != Value::Kind::scalar) {
    problems.add(v.where, fmt::format("{} must be a text, not {}", path, v.in_words()));
    return false;
  }
  if (!choices.empty() && std::ranges::find(choices, v.text) == choices.end()) {
    problems.add(v.where, fmt::format("{} must be one of {}, not '{}'{}", path, fmt::join(choices, ", "), v.text,
                                      did_you_mean(v.text, choices)));
    return false;
  }
  out = v.text;
  return true;
}

bool read_default_word(const Value& v, const std::string& path, const char* word, Problems& problems) {
  if (v.text == word) return true;
  problems.add(v.where,
               fmt::format("{} must be {} or a map, not {}{}", path, word, v.in_words(), did_you_mean(v.text, {word})));
  return false;
}

bool read_list(const Value& v, const std::string& path, std::optional<std::size_t> size, const char* element,
               Problems& problems) {
  if (v.kind == Value::Kind::sequence && (!size || v.items.size() == *size)) return true;
  const std::string wanted =
      size ? fmt::format("a list of {} x {}", *size, element) : fmt::format("a list of {}", element);
  problems.add(v.where, fmt::format("{} must be {}, not {}", path, wanted, v.in_words()));
  return false;
}

std::string real_text(float x) {
  return fmt::format("{}", x);
}
std::string real_text(double x) {
  return fmt::format("{}", x);
}

std::vector<std::string> choice_list(const Choices& choices) {
  return {choices.names.begin(), choices.names.begin() + choices.count};
}

}  // namespace detail
}  // namespace tofstream
