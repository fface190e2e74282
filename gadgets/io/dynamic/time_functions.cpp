// CSV of functions of time: see time_functions.hpp.
#include "gadgets/io/dynamic/time_functions.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#define CSV_IO_NO_THREAD  // a table is small
#include <csv.h>
#include <fmt/format.h>

#include "gadgets/io/csv_number.hpp"
#include "gadgets/io/motion/signal_table.hpp"
#include "kernels/dynamic/nested_em.hpp"

namespace tofstream::formats {
namespace {

constexpr std::array function_columns = {"f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8"};
static_assert(function_columns.size() == most_functions);

using Csv = io::CSVReader<most_functions + 1, io::trim_chars<' ', '\t', '\r'>, io::double_quote_escape<',', '"'>,
                          io::throw_on_overflow, io::single_and_empty_line_comment<'#'>>;

template <std::size_t... I>
void read_names(Csv& csv, std::index_sequence<I...>) {
  csv.read_header(io::ignore_extra_column | io::ignore_missing_column, "time_s", function_columns[I]...);
}

template <std::size_t... I>
bool read_cells(Csv& csv, std::array<const char*, most_functions + 1>& cells, std::index_sequence<I...>) {
  return csv.read_row(cells[I]...);
}

std::size_t count_functions(const Csv& csv) {
  std::size_t count = 0;
  for (std::size_t m = 0; m < function_columns.size(); ++m) {
    if (!csv.has_column(function_columns[m])) continue;
    if (m > count)
      throw std::invalid_argument(
          fmt::format("there is a column {}, and no {}", function_columns[m], function_columns[count]));
    ++count;
  }
  if (count == 0) throw std::invalid_argument("there is no column f1: name the functions f1, f2, ...");
  return count;
}

std::vector<TimeFunction> read_functions(const std::filesystem::path& file) {
  Csv csv(file.string());
  read_names(csv, std::make_index_sequence<most_functions>());
  if (!csv.has_column("time_s")) throw std::invalid_argument("there is no column time_s");
  std::vector<std::vector<double>> values(count_functions(csv));
  std::vector<double> time_s;
  std::array<const char*, most_functions + 1> cells{};
  while (read_cells(csv, cells, std::make_index_sequence<most_functions + 1>())) try {
      time_s.push_back(csv_number(cells[0], "time_s"));
      for (std::size_t m = 0; m < values.size(); ++m)
        values[m].push_back(csv_number(cells[m + 1], function_columns[m]));
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("line {}: {}", csv.get_file_line(), error.what()));
    }
  std::vector<TimeFunction> functions;
  for (std::vector<double>& value : values) functions.emplace_back(time_s, std::move(value));
  return functions;
}

}  // namespace

TimeFunction read_time_function(const std::filesystem::path& file) {
  const MotionSignal table = read_signal_table(file);
  try {
    if (table.value.empty()) throw std::invalid_argument("there is no column value");
    return {table.time_s, table.value};
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{}: {}", file.string(), error.what()));
  }
}

std::vector<TimeFunction> read_time_functions(const std::filesystem::path& file) {
  try {
    return read_functions(file);
  } catch (const io::error::base& error) {
    throw std::runtime_error(fmt::format("table of functions of time: {}", error.what()));
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{}: {}", file.string(), error.what()));
  }
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
