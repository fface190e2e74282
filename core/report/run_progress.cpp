// How far a run is: see run_progress.hpp.
#include "core/report/run_progress.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tofstream {
namespace {

std::string whole_seconds(double seconds) {
  const auto whole = std::llround(seconds);
  return whole < 90 ? fmt::format("{} s", whole) : fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

std::string number_in_words(double number) {
  constexpr double most_digits = 1e12;
  return number == std::floor(number) && number < most_digits ? fmt::format("{:.0f}", number)
                                                              : fmt::format("{:.4g}", number);
}

std::string progress_in_words(const GadgetReport& gadget) {
  const Progress& p = gadget.progress;
  if (p.total == 1) return fmt::format("{}: {:.0f}% {}", gadget.name, 100 * p.done, p.unit);
  const std::string done = number_in_words(p.done);
  if (p.total > 0) return fmt::format("{}: {} of {} {}", gadget.name, done, number_in_words(p.total), p.unit);
  return fmt::format("{}: {} {}", gadget.name, done, p.unit);
}

void add_words(std::string& line, const std::string& words) {
  line += (line.empty() ? "" : "   ") + words;
}

}  // namespace

RunProgress run_progress(const RunReport& report) {
  RunProgress progress;
  std::string& line = progress.line;
  bool waits = false;
  for (const auto& gadget : report.gadgets) {
    const Progress& p = gadget.progress;
    if (!(p.done > 0)) continue;
    add_words(line, progress_in_words(gadget));
    if (p.total > 0) progress.fraction = std::min(progress.fraction.value_or(1), p.done / p.total);
  }
  for (const auto& gadget : report.gadgets) {
    if (gadget.waiting.empty()) continue;
    waits = true;
    add_words(line, fmt::format("{}: {}", gadget.name, gadget.waiting));
  }
  if (line.empty()) return progress;
  const double seconds = report.data_seconds > 0 ? report.data_seconds : report.seconds;
  line += "   " + whole_seconds(seconds);
  const double done = progress.fraction.value_or(1);
  if (!waits && done > 0.01 && done < 1)
    line += fmt::format(", about {} left", whole_seconds(seconds * (1 - done) / done));
  return progress;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
