// PETSIRD's list mode for `tofstream convert`.
#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <span>

#include "gadgets/io/event_formats.hpp"
#include "gadgets/io/first_bytes.hpp"

namespace tofstream {
namespace {

Holds petsird_stream(const std::filesystem::path& file) {
  std::array<std::byte, 16> start{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(reinterpret_cast<char*>(start.data()), start.size());
  const auto count = static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0));
  const FileKind kind = kind_of_file(std::span(start).first(count));
  const bool is_packed =
      file.string().ends_with(".gz") && kind.is_packed == "gzip -d" && !file.string().ends_with(".nii.gz");
  return kind.name == petsird_name || is_packed ? Holds::list : Holds::nothing;
}

TOFSTREAM_FORMAT("PETSIRD", .words = "list mode in PETSIRD", .holds = petsird_stream,
                 .read = "  feed: {use: file_source, path: ''}\n  events: {use: petsird_decoder, from: feed}\n",
                 .last = "events", .left_out = "delayed coincidences, singles and energies, if it has them",
                 .has_efficiencies = true, .ending = ".petsird", .writer = "petsird_writer", .takes_scanner = true);

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
