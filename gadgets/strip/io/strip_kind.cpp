// Pairs of strips as a kind of scanner.
#include "gadgets/io/scanner_kinds.hpp"
#include "gadgets/strip/io/from_strips.hpp"
#include "gadgets/strip/io/strip_scanner_yaml.hpp"

namespace tofstream {
namespace {

// Strips detect every photon, whatever the spread of crystals.
ScannerHeader strips_header(const std::filesystem::path& file, double /*crystal_efficiency_spread*/) {
  return {petsird::strip_header(*formats::read_strip_scanner(file))};
}

TOFSTREAM_SCANNER("strips", .words = "a pair of strips", .header = strips_header, .simulator = "strip_simulator",
                  .writer = "strip_writer");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
