// Dates and times as users write them, for the formats that say when a scan was.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace tofstream {

using DateTime = std::chrono::sys_time<std::chrono::microseconds>;

/// "2026-03-01T09:30:00", with or without a fraction of a second. Throws std::invalid_argument "`what`: ...".
DateTime read_date_time(std::string_view what, const std::string& text);
/// "2026-03-01". Throws likewise.
std::chrono::year_month_day read_date(std::string_view what, const std::string& text);

/// Some seconds later.
DateTime later(DateTime time, double seconds);
/// From `begin` to `end`, in s.
double seconds_between(DateTime begin, DateTime end);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
