// Dates and times: see date_time.hpp.
#include "gadgets/io/date_time.hpp"

#include <cmath>
#include <cstddef>
#include <exception>
#include <stdexcept>

#include <boost/date_time/posix_time/posix_time.hpp>
#include <fmt/format.h>

namespace tofstream {
namespace {

constexpr double us_in_a_second = 1e6;
constexpr std::size_t to_seconds = 19;  // characters of 2026-03-01T09:30:00

// The library also takes other ways to write a time, so what it read is written again and compared.
boost::posix_time::ptime time_in(const std::string& text) try {
  const auto time = boost::posix_time::from_iso_extended_string(text);
  const std::string again = boost::posix_time::to_iso_extended_string(time);
  const bool is_so_written = text.size() >= to_seconds && again.starts_with(text.substr(0, to_seconds)) &&
                             (text.size() == to_seconds || text[to_seconds] == '.');
  return is_so_written ? time : boost::posix_time::ptime();
} catch (const std::exception&) {
  return {};
}

boost::gregorian::date date_in(const std::string& text) try {
  const auto date = boost::gregorian::from_simple_string(text);
  return boost::gregorian::to_iso_extended_string(date) == text ? date : boost::gregorian::date();
} catch (const std::exception&) {
  return {};
}

}  // namespace

DateTime read_date_time(std::string_view what, const std::string& text) {
  const boost::posix_time::ptime time = time_in(text);
  if (time.is_special())
    throw std::invalid_argument(fmt::format("{}: {} is no time: write it as 2026-03-01T09:30:00", what, text));
  const boost::posix_time::ptime epoch(boost::gregorian::date(1970, 1, 1));
  return DateTime(std::chrono::microseconds((time - epoch).total_microseconds()));
}

std::chrono::year_month_day read_date(std::string_view what, const std::string& text) {
  const boost::gregorian::date date = date_in(text);
  if (date.is_special())
    throw std::invalid_argument(fmt::format("{}: {} is no date: write it as 1970-12-31", what, text));
  return std::chrono::year(date.year()) / static_cast<unsigned>(date.month().as_number()) / date.day().as_number();
}

DateTime later(DateTime time, double seconds) {
  return time + std::chrono::microseconds(std::llround(seconds * us_in_a_second));
}

double seconds_between(DateTime begin, DateTime end) {
  return static_cast<double>((end - begin).count()) / us_in_a_second;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
