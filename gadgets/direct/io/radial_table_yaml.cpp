// Radial tables from YAML: see radial_table_yaml.hpp.
#include "gadgets/direct/io/radial_table_yaml.hpp"

#include <stdexcept>
#include <utility>
#include <vector>

#include "gadgets/io/yaml/described_file.hpp"

namespace tofstream::formats {
namespace {

struct RadialRow {
  std::vector<float> values;
  static constexpr auto params =
      describe(param<&RadialRow::values>("values", required, range(0, 1e12), "Values at the offsets, an odd number"));
};

struct RadialTableFile {
  float offset_step_mm = 0, radius_step_mm = 0;
  std::vector<RadialRow> rows;
  static constexpr auto params = describe(
      param<&RadialTableFile::offset_step_mm>("offset_step_mm", required, range(1e-3, 1e3), unit("mm"),
                                              "Between a row's values, whose middle one is at the voxel"),
      param<&RadialTableFile::radius_step_mm>("radius_step_mm", range(0, 1e3), unit("mm"),
                                              "Between rows, of the voxels' radial coordinate; of one row not needed"),
      param<&RadialTableFile::rows>("rows", required,
                                    "One for all voxels, or an odd number, from negative to positive coordinates; the "
                                    "middle one is at the axis"));
};

RadialTable radial_table_of(const Value& document) {
  auto file = described<RadialTableFile>(document, "radial table");
  RadialTable table{.offset_step_mm = file.offset_step_mm, .radius_step_mm = file.radius_step_mm, .rows = {}};
  for (RadialRow& row : file.rows) table.rows.push_back(std::move(row.values));
  try {
    validate(table);
  } catch (const std::invalid_argument& error) {
    refuse(document.where, error.what());
  }
  return table;
}

}  // namespace

RadialTable parse_radial_table(const std::string& text, const std::string& file) {
  return radial_table_of(parse_text(text, file));
}

RadialTable read_radial_table(const std::filesystem::path& file) {
  return radial_table_of(read_document(file));
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
