// The lines of a histogram of CASToR's while their bins come: each line's counts in ToF bins, its factors and its
// rates.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "gadgets/io/castor/record.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::castor {

class HistogramLines {
 public:
  /// `tof_bins`: 1 without ToF.
  explicit HistogramLines(std::uint32_t tof_bins = 1) : tof_bins_(tof_bins) {}

  /// Adds counts of a line's bin. `terms`: the line's factors and randoms, and the bin's rate of scatter. The line's
  /// crystals may come in either order; the bin is turned with them. Throws std::runtime_error for terms that differ from
  /// those that came before by more than 1e-3 of them, and for more counts than a float holds exactly.
  void add(const Record& terms, std::uint32_t tof_bin, float counts);

  /// Adds the lines without counts that can count: those that the scanner lists, with their efficiencies, or else all
  /// of its pairs. False where that is not known: of events with factors, a scanner that lists no lines does not say
  /// those of the others.
  bool add_empty(const Scanner& scanner, bool has_factors);

  /// The records, by ascending crystals.
  std::vector<Record> take();

 private:
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  static void require_alike(const Record& line, const Record::Bin& bin, const Record& terms);
  /// The line's record; a new one begins as `terms`.
  Record& line_of(Pair pair, const Record& terms);
  void add_listed(const RecordedLines& lines);
  void add_pairs(const Scanner& scanner);

  std::uint32_t tof_bins_;
  std::unordered_map<std::uint64_t, std::size_t> index_;
  std::vector<Record> records_;
};

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
