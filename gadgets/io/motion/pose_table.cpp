// CSV of poses: see pose_table.hpp.
#include "gadgets/io/motion/pose_table.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#define CSV_IO_NO_THREAD  // a table is small
#include <csv.h>
#include <fmt/format.h>

#include "gadgets/io/csv_number.hpp"

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

template <class Columns>
StatedPoses read_rows(const std::filesystem::path& file, const Columns& columns, PoseForm form) {
  constexpr std::size_t count = std::tuple_size_v<Columns>;
  constexpr auto numbered = std::make_index_sequence<count>();
  Reader<count + 1> csv(file.string());
  read_header(csv, columns, numbered);
  if (const std::string missing = first_missing(csv, columns); !missing.empty())
    throw std::invalid_argument(fmt::format("there is no column {}", missing));
  StatedPoses table{form, {}};
  std::array<const char*, count + 1> cells{};
  while (read_row(csv, cells, std::make_index_sequence<count + 1>())) try {
      StatedPose row{csv_number(cells[0], "time_s"), {}};
      if (!table.rows.empty() && !(row.time_s > table.rows.back().time_s))
        throw std::invalid_argument(
            fmt::format("time_s is {:g} after {:g}: times must ascend", row.time_s, table.rows.back().time_s));
      for (std::size_t i = 0; i < count; ++i) row.numbers.push_back(csv_number(cells[i + 1], columns[i]));
      pose_of(form, row.numbers);  // says what is no rotation
      table.rows.push_back(std::move(row));
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("line {}: {}", csv.get_file_line(), error.what()));
    }
  return table;
}

StatedPoses read_either(const std::filesystem::path& file) {
  if (has_first(file, quaternion_columns)) return read_rows(file, quaternion_columns, PoseForm::quaternion);
  return read_rows(file, matrix_columns, PoseForm::matrix);
}

}  // namespace

StatedPoses read_stated_poses(const std::filesystem::path& file) {
  StatedPoses table;
  try {
    table = read_either(file);
  } catch (const io::error::base& error) {
    throw std::runtime_error(fmt::format("table of poses: {}", error.what()));
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{}: {}", file.string(), error.what()));
  }
  if (table.rows.empty()) throw std::runtime_error(fmt::format("{}: the table of poses has no row", file.string()));
  return table;
}

std::vector<TimedPose> read_pose_table(const std::filesystem::path& file) {
  const StatedPoses table = read_stated_poses(file);
  std::vector<TimedPose> poses;
  for (const StatedPose& row : table.rows) poses.push_back({row.time_s, pose_of(table.form, row.numbers)});
  return poses;
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
