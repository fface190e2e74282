// The lines of a histogram: what its scan recorded are these, each with an efficiency, and not all pairs of detectors of
// the scanner. Projectors' sensitivity is then their sum (kernels/ring/sensitivity).
#pragma once

#include <cstdint>
#include <string>

#include "kernels/types/events.hpp"

namespace tofstream {

class RecordedLines {
 public:
  virtual ~RecordedLines() = default;
  virtual std::int64_t size() const = 0;
  /// Those of lines [begin, end) that can count, on the host: without ToF, with their efficiency in `multiplicative`
  /// (empty: 1). Thread-safe. May throw std::runtime_error where a file has changed.
  virtual EventBatch lines(std::int64_t begin, std::int64_t end) const = 0;
  /// Whether the efficiencies contain the object's attenuation.
  virtual bool has_attenuation() const { return false; }
  /// Words that differ for other lines or efficiencies: part of a sensitivity's key.
  virtual std::string key() const = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
