// A stream's header from a scanner: see stream_header.hpp.
#include "gadgets/wire/stream_header.hpp"

#include <filesystem>
#include <span>
#include <utility>

#include "gadgets/io/petsird/writer.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/ring/io/from_ring.hpp"
#include "gadgets/ring/io/ring_scanner_yaml.hpp"
#include "gadgets/strip/io/from_strips.hpp"
#include "gadgets/strip/io/strip_scanner_yaml.hpp"

namespace tofstream {
namespace {

petsird::Header header_of(const std::filesystem::path& scanner, double crystal_efficiency_spread) {
  if (formats::is_strip_scanner(scanner)) return petsird::strip_header(*formats::read_strip_scanner(scanner));
  RingScanner ring = formats::read_ring_scanner(scanner);
  ring.crystal_efficiency_spread = crystal_efficiency_spread;
  return petsird::header_of(ring).header;
}

}  // namespace

petsird::Header stream_header(const std::string& scanner, double crystal_efficiency_spread, bool delayeds) {
  petsird::Header header = header_of(find_shared("scanners", scanner), crystal_efficiency_spread);
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
