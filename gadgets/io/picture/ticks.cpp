// Round numbers along an axis: see ticks.hpp.
#include "gadgets/io/picture/ticks.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tofstream::detail {

namespace {

std::string superscript(int number) {
  static const char* const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string result;
  for (const char c : std::to_string(number)) result += c == '-' ? "⁻" : digits[c - '0'];
  return result;
}

/// The smallest of 1, 2, 5 x 10^n that is not below `value`, which is positive.
double round_up(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  const double factor = value / power * (1 - 1e-9);
  return power * (factor <= 1 ? 1 : (factor <= 2 ? 2 : (factor <= 5 ? 5 : 10)));
}

}  // namespace

std::string Ticks::unit_label(const std::string& unit) const {
  if (exponent == 0) return unit;
  return "×10" + superscript(exponent) + (unit.empty() ? "" : " " + unit);
}

double round_down(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  const double factor = value / power * (1 + 1e-9);
  return power * (factor >= 5 ? 5 : (factor >= 2 ? 2 : 1));
}

Ticks linear_ticks(double low, double high, int most) {
  const double step = round_up((high - low) / most);
  Ticks ticks;
  const double largest = std::max(std::abs(low), std::abs(high));
  const int magnitude = static_cast<int>(std::floor(std::log10(largest)));
  if (magnitude >= 5 || magnitude < -2) ticks.exponent = static_cast<int>(std::floor(magnitude / 3.0)) * 3;
  const double scale = std::pow(10.0, -ticks.exponent);
  const int decimals = std::clamp(-static_cast<int>(std::floor(std::log10(step * scale) + 1e-9)), 0, 12);
  const auto first = static_cast<long long>(std::ceil(low / step - 1e-9));
  const auto last = static_cast<long long>(std::floor(high / step + 1e-9));
  for (long long n = first; n <= last; ++n) {
    const double value = static_cast<double>(n) * step;
    ticks.values.push_back(value);
    ticks.labels.push_back(fmt::format("{:.{}f}", value * scale, decimals));
  }
  return ticks;
}

Ticks log_ticks(double low, double high) {
  const int first = static_cast<int>(std::floor(std::log10(low))), last = static_cast<int>(std::ceil(std::log10(high)));
  const int every = std::max(1, (last - first) / 8);
  Ticks ticks;
  for (int n = first; n <= last; n += every)
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1 && last - first > 3) continue;
      const double value = factor * std::pow(10.0, n);
      if (value < low * (1 - 1e-9) || value > high * (1 + 1e-9)) continue;
      ticks.values.push_back(value);
      ticks.labels.push_back(n >= -3 && n <= 4 ? fmt::format("{:g}", value)
                                               : fmt::format("{:g}×10{}", factor, superscript(n)));
    }
  return ticks;
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
