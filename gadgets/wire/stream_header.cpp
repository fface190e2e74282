// A stream's header from a scanner: see stream_header.hpp.
#include "gadgets/wire/stream_header.hpp"

#include <filesystem>
#include <span>
#include <utility>

#include "gadgets/io/petsird/writer.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/scanner_file.hpp"

namespace tofstream {

petsird::Header stream_header(const std::string& scanner, double crystal_efficiency_spread, bool delayeds) {
  const std::filesystem::path file = find_shared("scanners", scanner);
  petsird::Header header = formats::petsird_header_of(file, crystal_efficiency_spread).header;
  if (delayeds) header.scanner.delayed_event_policy = header.scanner.prompt_event_policy;
  return header;
}

std::vector<std::byte> encode_stream_header(petsird::Header header) {
  std::vector<std::byte> bytes;
  const auto append = [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); };
  petsird::Writer(append, std::move(header)).flush();
  return bytes;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
