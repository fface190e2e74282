// CSV of the times of frames: see frame_times_table.hpp.
#include "gadgets/io/dynamic/frame_times_table.hpp"

#include <stdexcept>

#define CSV_IO_NO_THREAD  // a table is small
#include <csv.h>
#include <fmt/format.h>

#include "gadgets/io/csv_number.hpp"

namespace tofstream::formats {
namespace {

void require_frame(double start_s, double duration_s, const FrameTimes& before) {
  if (!(start_s >= 0))
    throw std::invalid_argument(fmt::format("start_s is {:g}: scan times are not negative", start_s));
  if (!(duration_s > 0))
    throw std::invalid_argument(fmt::format("duration_s is {:g}: a frame has a length", duration_s));
  if (start_s + duration_s > latest_frame_s)
    throw std::invalid_argument(
        fmt::format("the frame ends at {:g} s: times are at most {:g} s", start_s + duration_s, latest_frame_s));
  if (before.start_s.empty()) return;
  if (before.start_s.size() == most_frames)
    throw std::invalid_argument(fmt::format("there cannot be more than {} frames", most_frames));
  const double end_s = before.start_s.back() + before.duration_s.back();
  if (start_s < end_s - frame_rounding_s)
    throw std::invalid_argument(
        fmt::format("start_s is {:g}, before the frame above it ends, at {:g} s: frames ascend and cannot overlap",
                    start_s, end_s));
}

FrameTimes read_frame_rows(const std::filesystem::path& file) {
  io::CSVReader<2, io::trim_chars<' ', '\t', '\r'>, io::double_quote_escape<',', '"'>, io::throw_on_overflow,
                io::single_and_empty_line_comment<'#'>>
      csv(file.string());
  csv.read_header(io::ignore_extra_column | io::ignore_missing_column, "start_s", "duration_s");
  for (const char* column : {"start_s", "duration_s"})
    if (!csv.has_column(column)) throw std::invalid_argument(fmt::format("there is no column {}", column));
  FrameTimes times;
  const char *start = nullptr, *duration = nullptr;
  while (csv.read_row(start, duration)) try {
      const double start_s = csv_number(start, "start_s"), duration_s = csv_number(duration, "duration_s");
      require_frame(start_s, duration_s, times);
      times.start_s.push_back(start_s);
      times.duration_s.push_back(duration_s);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("line {}: {}", csv.get_file_line(), error.what()));
    }
  if (times.start_s.empty()) throw std::invalid_argument("the table of frames has no row");
  return times;
}

}  // namespace

FrameTimes read_frame_times_table(const std::filesystem::path& file) {
  try {
    return read_frame_rows(file);
  } catch (const io::error::base& error) {
    throw std::runtime_error(fmt::format("table of frames: {}", error.what()));
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{}: {}", file.string(), error.what()));
  }
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
