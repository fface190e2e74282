// Logarithms of many floats on the GPU. log() of a double takes some ninety instructions, most of which move constants.
#pragma once

#include <cstdint>

namespace tofstream {

/// 64 numbers between 1 and 2.
struct LogTable {
  static constexpr int count = 64;
  struct Entry {
    double inverse, logarithm;  // of 1 / inverse
  } entries[count];

  /// log(1 / x) for x in (0.5, 1): twice the series of the inverse hyperbolic tangent, which leaves 1e-18.
  static constexpr double minus_log(double x) {
    const double z = (1 - x) / (1 + x);
    double power = z, sum = 0;
    for (int n = 1; n < 40; n += 2, power *= z * z) sum += power / n;
    return 2 * sum;
  }
  static constexpr LogTable made() {
    LogTable table{};
    for (int i = 0; i < count; ++i) {
      const double inverse = 1 / (1 + (i + 0.5) / count);
      table.entries[i] = {inverse, minus_log(inverse)};
    }
    return table;
  }
};

__device__ constexpr LogTable log_table = LogTable::made();

/// Natural logarithm of a positive, normal float in double precision: that of its exponent, of the table's next number,
/// and of the rest by its series, which leaves 3e-16.
__device__ inline double log_of_float(float x) {
  constexpr std::uint32_t mantissa = (1u << 23) - 1, one = 127u << 23;
  const std::uint32_t bits = __float_as_uint(x);
  const LogTable::Entry& entry = log_table.entries[bits >> 17 & (LogTable::count - 1)];
  const double r = fma(static_cast<double>(__uint_as_float((bits & mantissa) | one)), entry.inverse, -1.0);
  double series = fma(r, -1.0 / 6, 1.0 / 5);
  series = fma(r, series, -1.0 / 4);
  series = fma(r, series, 1.0 / 3);
  series = fma(r, series, -1.0 / 2);
  series = fma(r * r, series, r);
  constexpr double log_2 = 0.69314718055994530942;
  return fma(static_cast<double>(static_cast<int>(bits >> 23) - 127), log_2, entry.logarithm) + series;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
