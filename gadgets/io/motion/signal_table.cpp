// CSV of a signal: see signal_table.hpp.
#include "gadgets/io/motion/signal_table.hpp"

#include <cstddef>
#include <stdexcept>
#include <string>

#define CSV_IO_NO_THREAD  // a table is small
#include <csv.h>
#include <fmt/format.h>

#include "core/base/atomic_file.hpp"
#include "gadgets/io/csv_number.hpp"

namespace tofstream::formats {
namespace {

MotionSignal read_signal(const std::filesystem::path& file) {
  io::CSVReader<2, io::trim_chars<' ', '\t', '\r'>, io::double_quote_escape<',', '"'>, io::throw_on_overflow,
                io::single_and_empty_line_comment<'#'>>
      csv(file.string());
  csv.read_header(io::ignore_extra_column | io::ignore_missing_column, "time_s", "value");
  if (!csv.has_column("time_s")) throw std::invalid_argument("there is no column time_s");
  const bool has_values = csv.has_column("value");
  MotionSignal signal;
  const char *time = nullptr, *value = nullptr;
  while (csv.read_row(time, value)) try {
      const double time_s = csv_number(time, "time_s");
      if (!signal.time_s.empty() && !(time_s > signal.time_s.back()))
        throw std::invalid_argument(
            fmt::format("time_s is {:g} after {:g}: times must ascend", time_s, signal.time_s.back()));
      if (has_values) signal.value.push_back(csv_number(value, "value"));
      signal.time_s.push_back(time_s);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("line {}: {}", csv.get_file_line(), error.what()));
    }
  if (signal.time_s.empty()) throw std::invalid_argument("the table has no row");
  return signal;
}

}  // namespace

MotionSignal read_signal_table(const std::filesystem::path& file) {
  try {
    return read_signal(file);
  } catch (const io::error::base& error) {
    throw std::runtime_error(fmt::format("table of a signal: {}", error.what()));
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{}: {}", file.string(), error.what()));
  }
}

void write_signal_table(const std::filesystem::path& file, const MotionSignal& signal) {
  std::string text = signal.value.empty() ? "time_s\n" : "time_s,value\n";
  for (std::size_t i = 0; i < signal.time_s.size(); ++i)
    text += signal.value.empty() ? fmt::format("{:.6g}\n", signal.time_s[i])
                                 : fmt::format("{:.6f},{:.6g}\n", signal.time_s[i], signal.value[i]);
  AtomicFile written(file);
  written.write(text);
  written.commit();
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
