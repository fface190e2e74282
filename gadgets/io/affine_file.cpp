// Affine maps as text: see affine_file.hpp.
#include "gadgets/io/affine_file.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "gadgets/io/csv_number.hpp"
#include "gadgets/io/shared_files.hpp"

namespace tofstream::formats {
namespace {

namespace fs = std::filesystem;

constexpr auto* what_is_wanted = "an affine map is a matrix of 4 rows of 4 numbers, the last 0 0 0 1";

[[noreturn]] void refuse_affine(const fs::path& path, const std::string& why) {
  throw std::runtime_error(fmt::format("{}: {}", printable(path.string()), why));
}

std::vector<double> numbers_of_row(std::string_view line) {
  std::vector<double> numbers;
  constexpr std::string_view between = " \t\r,";
  line = line.substr(0, line.find('#'));
  for (std::size_t at = line.find_first_not_of(between); at != line.npos; at = line.find_first_not_of(between, at)) {
    const std::size_t end = std::min(line.find_first_of(between, at), line.size());
    numbers.push_back(csv_number(line.substr(at, end - at), "a number of the matrix"));
    at = end;
  }
  return numbers;
}

std::vector<std::array<double, 4>> read_affine_rows(const fs::path& path) {
  require_readable(path);
  std::ifstream file(path);
  std::vector<std::array<double, 4>> rows;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    try {
      const std::vector<double> numbers = numbers_of_row(line);
      if (numbers.empty()) continue;
      if (numbers.size() != 4 || rows.size() == 4)
        throw std::invalid_argument(numbers.size() != 4
                                        ? fmt::format("{} numbers, but {}", numbers.size(), what_is_wanted)
                                        : fmt::format("a fifth row, but {}", what_is_wanted));
      std::ranges::copy(numbers, rows.emplace_back().begin());
    } catch (const std::invalid_argument& error) {
      refuse_affine(path, fmt::format("line {}: {}", number, error.what()));
    }
  }
  return rows;
}

}  // namespace

Affine read_affine(const fs::path& path) {
  const auto rows = read_affine_rows(path);
  if (rows.size() < 3) refuse_affine(path, fmt::format("{} rows of numbers, but {}", rows.size(), what_is_wanted));
  if (rows.size() == 4 && rows[3] != std::array<double, 4>{0, 0, 0, 1})
    refuse_affine(path, fmt::format("its last row is {:g} {:g} {:g} {:g} and not 0 0 0 1: is it transposed?",
                                    rows[3][0], rows[3][1], rows[3][2], rows[3][3]));
  std::array<Vec3d, 4> columns;
  for (std::size_t c = 0; c < 4; ++c) columns[c] = {rows[0][c], rows[1][c], rows[2][c]};
  const Affine affine = Affine::of_columns({columns[0], columns[1], columns[2]}, columns[3]);
  if (affine.is_singular())
    refuse_affine(path, "the matrix is singular, it makes a plane of the image: check its first three columns");
  return affine;
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
