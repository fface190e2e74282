// CSV of poses: see pose_table.hpp.
#include "gadgets/io/motion/pose_table.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#define CSV_IO_NO_THREAD  // a table is small
#include <csv.h>
#include <fmt/format.h>

#include "core/base/printable.hpp"

namespace tofstream::formats {

namespace {

constexpr std::array matrix_columns = {"m00", "m01", "m02", "m03", "m10", "m11",
                                       "m12", "m13", "m20", "m21", "m22", "m23"};
constexpr std::array quaternion_columns = {"qw", "qx", "qy", "qz", "tx_mm", "ty_mm", "tz_mm"};

template <std::size_t N>
using Reader = io::CSVReader<N, io::trim_chars<' ', '\t', '\r'>, io::double_quote_escape<',', '"'>,
                             io::throw_on_overflow, io::single_and_empty_line_comment<'#'>>;

template <std::size_t... I, class Csv, class Columns>
void read_header(Csv& csv, const Columns& columns, std::index_sequence<I...>) {
  csv.read_header(io::ignore_extra_column | io::ignore_missing_column, "time_s", columns[I]...);
}

template <std::size_t... I, class Csv, std::size_t N>
bool read_row(Csv& csv, std::array<const char*, N>& cells, std::index_sequence<I...>) {
  return csv.read_row(cells[I]...);
}

// The library takes an empty cell for 0.
double number_in(std::string_view cell, const char* column) {
  double number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(number))
    throw std::invalid_argument(fmt::format("{} is '{}', which is no number", column, printable(cell)));
  return number;
}

template <class Csv, class Columns>
std::string first_missing(const Csv& csv, const Columns& columns) {
  if (!csv.has_column("time_s")) return "time_s";
  for (const char* column : columns)
    if (!csv.has_column(column)) return column;
  return {};
}

template <class Columns>
bool has_first(const std::filesystem::path& file, const Columns& columns) {
  constexpr std::size_t all = std::tuple_size_v<Columns> + 1;
  Reader<all> csv(file.string());
  read_header(csv, columns, std::make_index_sequence<all - 1>());
  return csv.has_column(columns.front());
}

// `pose_of`: a row's numbers to its pose.
template <class Columns, class PoseOf>
std::vector<TimedPose> read_rows(const std::filesystem::path& file, const Columns& columns, const PoseOf& pose_of) {
  constexpr std::size_t count = std::tuple_size_v<Columns>;
  constexpr auto numbered = std::make_index_sequence<count>();
  Reader<count + 1> csv(file.string());
  read_header(csv, columns, numbered);
  if (const std::string missing = first_missing(csv, columns); !missing.empty())
    throw std::invalid_argument(fmt::format("there is no column {}", missing));
  std::vector<TimedPose> rows;
  std::array<const char*, count + 1> cells{};
  while (read_row(csv, cells, std::make_index_sequence<count + 1>())) try {
      const double time_s = number_in(cells[0], "time_s");
      if (!rows.empty() && !(time_s > rows.back().time_s))
        throw std::invalid_argument(
            fmt::format("time_s is {:g} after {:g}: times must ascend", time_s, rows.back().time_s));
      std::array<double, count> numbers{};
      for (std::size_t i = 0; i < count; ++i) numbers[i] = number_in(cells[i + 1], columns[i]);
      rows.push_back({time_s, pose_of(numbers)});
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("line {}: {}", csv.get_file_line(), error.what()));
    }
  return rows;
}

std::vector<TimedPose> read_either(const std::filesystem::path& file) {
  if (has_first(file, quaternion_columns))
    return read_rows(file, quaternion_columns, [](const std::array<double, 7>& n) {
      return pose_of_quaternion({n[0], n[1], n[2], n[3]}, {n[4], n[5], n[6]});
    });
  return read_rows(file, matrix_columns, pose_of_matrix);
}

}  // namespace

std::vector<TimedPose> read_pose_table(const std::filesystem::path& file) {
  std::vector<TimedPose> rows;
  try {
    rows = read_either(file);
  } catch (const io::error::base& error) {
    throw std::runtime_error(fmt::format("table of poses: {}", error.what()));
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{}: {}", file.string(), error.what()));
  }
  if (rows.empty()) throw std::runtime_error(fmt::format("{}: the table of poses has no row", file.string()));
  return rows;
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
