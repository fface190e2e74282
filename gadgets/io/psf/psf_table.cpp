// CSV of a scanner's resolution: see psf_table.hpp.
#include "gadgets/io/psf/psf_table.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <system_error>

#define CSV_IO_NO_THREAD  // a table is small
#include <csv.h>
#include <fmt/format.h>

#include "core/base/atomic_file.hpp"
#include "core/base/printable.hpp"

namespace tofstream::formats {
namespace {

constexpr std::array psf_columns = {"r_mm", "z_mm", "radial_mm", "tangential_mm", "axial_mm"};

// The library takes an empty cell for 0.
double width_in(std::string_view cell, const char* column) {
  double number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (error != std::errc() || end != cell.data() + cell.size())
    throw std::invalid_argument(fmt::format("{} is '{}', which is no number", column, printable(cell)));
  return number;
}

std::vector<ResolutionPoint> read_points(const std::filesystem::path& file) {
  io::CSVReader<psf_columns.size(), io::trim_chars<' ', '\t', '\r'>, io::double_quote_escape<',', '"'>,
                io::throw_on_overflow, io::single_and_empty_line_comment<'#'>>
      csv(file.string());
  const auto& names = psf_columns;
  csv.read_header(io::ignore_extra_column | io::ignore_missing_column, names[0], names[1], names[2], names[3],
                  names[4]);
  for (const char* column : names)
    if (!csv.has_column(column)) throw std::invalid_argument(fmt::format("there is no column {}", column));
  std::vector<ResolutionPoint> points;
  std::array<const char*, psf_columns.size()> cells{};
  while (csv.read_row(cells[0], cells[1], cells[2], cells[3], cells[4])) try {
      std::array<double, psf_columns.size()> n{};
      for (std::size_t i = 0; i < n.size(); ++i) n[i] = width_in(cells[i], names[i]);
      points.push_back({n[0], n[1], {n[2], n[3], n[4]}});
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("line {}: {}", csv.get_file_line(), error.what()));
    }
  return points;
}

}  // namespace

ResolutionTable read_psf_table(const std::filesystem::path& file) {
  try {
    return ResolutionTable(read_points(file));
  } catch (const io::error::base& error) {
    throw std::runtime_error(fmt::format("table of widths: {}", error.what()));
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{}: {}", file.string(), error.what()));
  }
}

void write_psf_table(const std::filesystem::path& file, const std::vector<ResolutionPoint>& points,
                     const std::string& comment) {
  std::string text = comment.empty() ? "" : "# " + comment + "\n";
  text += fmt::format("{}\n", fmt::join(psf_columns, ","));
  for (const ResolutionPoint& point : points)
    text += fmt::format("{:.4g},{:.5g},{:.4g},{:.4g},{:.4g}\n", point.r_mm, point.z_mm, point.fwhm.radial_mm,
                        point.fwhm.tangential_mm, point.fwhm.axial_mm);
  AtomicFile table(file);
  table.write(text);
  table.commit();
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
