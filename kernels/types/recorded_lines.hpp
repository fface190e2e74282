// The lines of a histogram: what its scan recorded are these, each with an efficiency, and not all pairs of detectors of
// the scanner. Projectors' sensitivity is then their sum (kernels/ring/sensitivity).
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/types/events.hpp"

namespace tofstream {

/// The pairs of detectors that some bins join, those of a bin one after the other.
struct BinPairs {
  std::vector<std::uint32_t> detector1, detector2;
  std::vector<std::int64_t> first;  // of each bin's pairs; and one more, their number
};

class RecordedLines {
 public:
  virtual ~RecordedLines() = default;
  virtual std::int64_t size() const = 0;
  /// Those of lines [begin, end) that can count, on the host: without ToF, with their efficiency in `multiplicative`
  /// (empty: 1). Thread-safe. May throw std::runtime_error where a file has changed.
  virtual EventBatch lines(std::int64_t begin, std::int64_t end) const = 0;
  /// Whether the efficiencies contain the object's attenuation.
  virtual bool has_attenuation() const { return false; }
  /// Whether the lines of a bin that joins several pairs of detectors are to be projected one by one: events and
  /// lines() then have their bins' numbers. Otherwise they are one line, between the means of their ends.
  virtual bool are_spread() const { return false; }
  /// Thread-safe. Throws std::logic_error for lines that are not spread.
  virtual BinPairs pairs(std::span<const std::uint32_t> bins) const {
    (void)bins;
    throw std::logic_error("these lines are single ones");
  }
  /// Words that differ for other lines or efficiencies: part of a sensitivity's key.
  virtual std::string key() const = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
