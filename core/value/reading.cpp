#include "core/value/reading.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/did_you_mean.hpp"

namespace tofstream {
namespace {

// The whole of `text` as a T; a leading '+' is allowed, as in YAML.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T x{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return x;
}

bool consists_of_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("+-0123456789") == std::string::npos;
}

// As YAML writes infinity and what is no number.
bool is_not_finite(const Value& v) {
  return !v.quoted &&
         (v.text.ends_with(".inf") || v.text.ends_with(".nan") || v.text.ends_with(".NaN") || v.text.ends_with(".Inf"));
}

}  // namespace

void Reading::must_be(std::string_view wanted, std::string_view found) const {
  problems_->add(value_->where, fmt::format("{} must be {}, not {}", path_, wanted, found));
}

Reading Reading::item(std::size_t index) const {
  return {value_->items[index], fmt::format("{}[{}]", path_, index), *problems_, *rules_};
}

std::optional<bool> Reading::boolean() const {
  const std::string& text = value_->text;
  const bool is_true = text == "true" || text == "True" || text == "TRUE";
  const bool is_false = text == "false" || text == "False" || text == "FALSE";
  if (value_->kind == Value::Kind::scalar && (is_true || is_false)) return is_true;
  must_be("true or false", value_->in_words());
  return std::nullopt;
}

bool Reading::is_within_limits(double x) const {
  if (rules_->limits.contain(x)) return true;
  must_be(limits_in_words(rules_->limits, rules_->unit), value_->text);
  return false;
}

// An integer as text, or as a real without a fraction (1e6) that a double holds exactly.
template <class T>
std::optional<T> Reading::whole(T lo, T hi) const {
  constexpr double exact = 9007199254740992.0;  // 2^53
  std::optional<T> x;
  bool is_whole = false;
  if (value_->kind == Value::Kind::scalar) {
    x = parse_number<T>(value_->text);
    is_whole = consists_of_digits(value_->text);
    if (const auto real = parse_number<double>(value_->text); !x && real && std::trunc(*real) == *real) {
      is_whole = true;
      if (std::abs(*real) <= exact && (*real >= 0 || std::is_signed_v<T>)) x = static_cast<T>(*real);
    }
  }
  if (!x && !is_whole) {
    must_be("an integer", value_->in_words());
    return std::nullopt;
  }
  // Where a number is outside the declared limits, the message names these, and not those of the C++ type.
  if (rules_->limits.any() && is_whole && !is_within_limits(*parse_number<double>(value_->text))) return std::nullopt;
  if (x && *x >= lo && *x <= hi) return x;
  must_be(fmt::format("in [{}, {}]", lo, hi), value_->text);
  return std::nullopt;
}

std::optional<std::int64_t> Reading::integer(std::int64_t lo, std::int64_t hi) const {
  return whole(lo, hi);
}
std::optional<std::uint64_t> Reading::natural(std::uint64_t hi) const {
  return whole(std::uint64_t{0}, hi);
}

std::optional<double> Reading::real(double largest) const {
  const bool is_scalar = value_->kind == Value::Kind::scalar;
  std::optional<double> x;
  if (is_scalar) x = parse_number<double>(value_->text);
  if ((is_scalar && is_not_finite(*value_)) || (x && (!std::isfinite(*x) || std::abs(*x) > largest)))
    must_be("a finite number", value_->text);
  else if (!x)
    must_be("a number", value_->in_words());
  else if (is_within_limits(*x))
    return x;
  return std::nullopt;
}

std::optional<std::string> Reading::text(const std::vector<std::string>& choices) const {
  if (value_->kind != Value::Kind::scalar)
    must_be("a text", value_->in_words());
  else if (!choices.empty() && std::ranges::find(choices, value_->text) == choices.end())
    must_be(fmt::format("one of {}", fmt::join(choices, ", ")),
            fmt::format("'{}'{}", value_->text, did_you_mean(value_->text, choices)));
  else
    return value_->text;
  return std::nullopt;
}

bool Reading::is_list(std::optional<std::size_t> size, std::string_view element) const {
  if (value_->kind == Value::Kind::sequence && (!size || value_->items.size() == *size)) return true;
  must_be(size ? fmt::format("a list of {} x {}", *size, element) : fmt::format("a list of {}", element),
          value_->in_words());
  return false;
}

bool Reading::is_default_word(std::string_view word) const {
  if (value_->text == word) return true;
  must_be(fmt::format("{} or a map", word), value_->in_words() + did_you_mean(value_->text, {std::string(word)}));
  return false;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
