// A stream's header from a scanner: see stream_header.hpp.
#include "gadgets/wire/stream_header.hpp"

#include <span>
#include <utility>

#include "gadgets/formats/petsird/from_ring.hpp"
#include "gadgets/formats/petsird/writer.hpp"
#include "gadgets/formats/scanner_yaml.hpp"
#include "gadgets/formats/shared_files.hpp"

namespace tofstream {

std::vector<std::byte> stream_header(const std::string& scanner, double crystal_efficiency_spread, bool delayeds) {
  RingScanner ring = formats::read_ring_scanner(find_shared("scanners", scanner));
  ring.crystal_efficiency_spread = crystal_efficiency_spread;
  petsird::Header header = petsird::header_of(ring).header;
  if (delayeds) header.scanner.delayed_event_policy = header.scanner.prompt_event_policy;
  std::vector<std::byte> bytes;
  const auto append = [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); };
  petsird::Writer(append, std::move(header)).flush();
  return bytes;
}

}  // namespace tofstream
