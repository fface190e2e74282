// Dates and times: see date_time.hpp.
#include "gadgets/io/date_time.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace tofstream {
namespace {

constexpr double us_in_a_second = 1e6;

// So many digits from the front of the text; -1 where they are not there.
int take_digits(std::string_view& text, std::size_t count) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + std::min(count, text.size()), value);
  if (error != std::errc{} || end != text.data() + count || text.front() == '-') return -1;
  text.remove_prefix(count);
  return value;
}

bool take_character(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// year-month-day; not ok() where it is none.
std::chrono::year_month_day take_iso_date(std::string_view& text) {
  const int year = take_digits(text, 4);
  const int month = take_character(text, '-') ? take_digits(text, 2) : -1;
  const int day = take_character(text, '-') ? take_digits(text, 2) : -1;
  if (year < 1 || month < 1 || day < 1) return {};
  return std::chrono::year(year) / month / day;
}

}  // namespace

DateTime read_date_time(std::string_view what, const std::string& text) {
  std::string_view rest = text;
  const auto day = take_iso_date(rest);
  const int hour = take_character(rest, 'T') ? take_digits(rest, 2) : -1;
  const int minute = take_character(rest, ':') ? take_digits(rest, 2) : -1;
  const int second = take_character(rest, ':') ? take_digits(rest, 2) : -1;
  double fraction = 0;
  if (rest.starts_with('.')) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), fraction);
    rest.remove_prefix(error == std::errc{} ? static_cast<std::size_t>(end - rest.data()) : 0);
  }
  const auto within = [](int value, int end) { return value >= 0 && value < end; };
  if (!day.ok() || !within(hour, 24) || !within(minute, 60) || !within(second, 60) || !(fraction < 1) || !rest.empty())
    throw std::invalid_argument(fmt::format("{}: {} is no time: write it as 2026-03-01T09:30:00", what, text));
  return later(std::chrono::sys_days(day) + std::chrono::hours(hour) + std::chrono::minutes(minute), second + fraction);
}

std::chrono::year_month_day read_date(std::string_view what, const std::string& text) {
  std::string_view rest = text;
  const auto day = take_iso_date(rest);
  if (!day.ok() || !rest.empty())
    throw std::invalid_argument(fmt::format("{}: {} is no date: write it as 1970-12-31", what, text));
  return day;
}

DateTime later(DateTime time, double seconds) {
  return time + std::chrono::microseconds(std::llround(seconds * us_in_a_second));
}

double seconds_between(DateTime begin, DateTime end) {
  return static_cast<double>((end - begin).count()) / us_in_a_second;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
