// A small scanner and small files of CASToR's, for tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gadgets/io/castor/data_header.hpp"
#include "gadgets/io/castor/record.hpp"

namespace tofstream::castor::testing {

inline void write_file(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

/// Eight sectors of two by two crystals, whose middles lie 105 mm from the axis.
inline std::string small_geom(const std::string& more = "") {
  return "# eight sectors\nmodality : PET\nscanner name : small\ndescription : eight sectors\nnumber of elements : 32\n"
         "number of layers : 1\nvoxels number transaxial : 40\nvoxels number axial : 4\nfield of view transaxial : 80\n"
         "field of view axial : 8\nscanner radius : 100  # to the face\nnumber of rsectors : 8\n"
         "number of crystals transaxial : 2\nnumber of crystals axial : 2\ncrystals size depth : 10\n"
         "crystals size transaxial : 4\ncrystals size axial : 4\n" +
         more;
}

inline DataHeader small_header(const std::filesystem::path& folder) {
  return {.file = folder / "scan.cdh", .data = folder / "scan.cdf", .scanner = "small", .duration_s = 2};
}

/// Writes header, events and the small scanner into the header's folder.
inline void write_scan(DataHeader header, const std::vector<Record>& records) {
  header.events = records.size();
  const RecordLayout layout(header);
  std::string bytes(records.size() * layout.bytes, '\0');
  for (std::size_t i = 0; i < records.size(); ++i)
    write_record(layout, records[i], reinterpret_cast<std::byte*>(bytes.data()) + i * layout.bytes);
  write_file(header.file, data_header_text(header));
  write_file(header.data, bytes);
  write_file(header.file.parent_path() / "small.geom", small_geom());
}

}  // namespace tofstream::castor::testing
// SPDX-License-Identifier: Apache-2.0
