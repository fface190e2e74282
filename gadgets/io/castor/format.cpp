// CASToR's data for `tofstream convert`.
#include <algorithm>
#include <fstream>
#include <string>

#include "gadgets/io/castor/data_header.hpp"
#include "gadgets/io/event_formats.hpp"

namespace tofstream::castor {
namespace {

Holds castor_data(const std::filesystem::path& file) {
  constexpr std::size_t enough = 4096;
  std::string start(enough, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  if (!is_data_header(start)) return Holds::nothing;
  return read_data_header(file).mode == DataMode::list ? Holds::list : Holds::bins;
}

TOFSTREAM_FORMAT("CASToR", .words = "list mode or a histogram of CASToR's", .holds = castor_data,
                 .read = "  feed: {use: castor_source, path: ''}\n", .ending = ".cdh", .writer = "castor_writer",
                 .takes_bins = true);

}  // namespace
}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
