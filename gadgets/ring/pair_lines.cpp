// The lines of scanners with a table of detectors: those between their pairs.
#include "kernels/ring/sensitivity/pair_lines.hpp"

#include "gadgets/step/scanner_lines.hpp"

namespace tofstream {
namespace {

bool has_pairs(const Scanner& scanner) {
  return scanner.detectors && !scanner.types.empty();
}

ScannerLinesCount visit_pairs(const Scanner& scanner, const Grid& box, const ScannerLinesSettings& settings,
                              const ScannerLinesVisit& visit) {
  const PairLinesSettings pairs{.exact_pairs = settings.most_lines, .sampled_pairs = settings.most_lines};
  const PairLinesCount count = for_each_pair_line(scanner, box, pairs, settings.mu_per_mm, visit);
  return {count.pairs, count.drawn};
}

TOFSTREAM_KIND(ScannerLines, ScannerLines{.name = "pairs of detectors", .knows = has_pairs, .visit = visit_pairs});

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
