// Rings of crystals as a kind of scanner.
#include "gadgets/io/scanner_kinds.hpp"
#include "gadgets/ring/io/from_ring.hpp"
#include "gadgets/ring/io/ring_scanner_yaml.hpp"

namespace tofstream {
namespace {

ScannerHeader crystals_header(const std::filesystem::path& file, double crystal_efficiency_spread) {
  RingScanner ring = formats::read_ring_scanner(file);
  ring.crystal_efficiency_spread = crystal_efficiency_spread;
  return petsird::header_of(ring);
}

TOFSTREAM_SCANNER("crystals", .words = "a ring of crystals", .header = crystals_header, .petsird_holds_events = true,
                  .simulator = "simulator", .writer = "petsird_writer");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
