// Interfile projection data of PET for `tofstream convert`.
#include "gadgets/io/event_formats.hpp"
#include "gadgets/io/interfile/projection_header.hpp"

namespace tofstream::interfile {
namespace {

Holds projection_data(const std::filesystem::path& file) {
  return is_projection_header(file) ? Holds::bins : Holds::nothing;
}

TOFSTREAM_FORMAT("Interfile", .words = "Interfile projection data of PET", .holds = projection_data,
                 .read = "  feed: {use: interfile_source, path: ''}\n", .ending = ".hs",
                 .writer = "interfile_writer", .takes_bins = true, .efficiencies = "normalisation");

}  // namespace
}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
