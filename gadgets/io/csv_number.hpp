// Numbers in the cells of CSV tables, for those that the CSV library hands out as text: it takes an empty cell for 0.
#pragma once

#include <charconv>
#include <cmath>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "core/base/printable.hpp"

namespace tofstream::formats {

/// Throws std::invalid_argument, which names the column, for what is no finite number.
inline double csv_number(std::string_view cell, std::string_view column) {
  double number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(number))
    throw std::invalid_argument(fmt::format("{} is '{}', which is no number", column, printable(cell)));
  return number;
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
