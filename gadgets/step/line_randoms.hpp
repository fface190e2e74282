// Randoms of a scanner's lines, by the kind of scanner: for gadgets that lay expected counts down line by line instead
// of giving each event its own. A family registers how its scanners' randoms are estimated by TOFSTREAM_KIND.
#pragma once

#include <memory>
#include <string>

#include "core/plugin/kind_table.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

/// Randoms are given as a scanner: that of the events, but the efficiency of each line is its randoms in counts per s,
/// of all ToF together. So ScannerLines enumerates them as it does the lines of a sensitivity.
class LineRandoms {
 public:
  virtual ~LineRandoms() = default;
  /// Counts delayed coincidences. Throws std::invalid_argument for those of other detectors.
  virtual void add(const EventBatch& delayeds) = 0;
  /// The estimate from the delayeds that came in `seconds` of scan time. Throws std::invalid_argument unless these are
  /// positive.
  virtual std::shared_ptr<const Scanner> from_delayeds(double seconds) const = 0;
  /// `total_cps` counts per s over all lines, shared out by efficiency.
  virtual std::shared_ptr<const Scanner> of_rate(double total_cps) const = 0;
};

struct LineRandomsKind {
  std::string name;
  /// Whether it knows the randoms of the scanner's lines.
  bool (*knows)(const Scanner& scanner) = nullptr;
  std::unique_ptr<LineRandoms> (*make)(std::shared_ptr<const Scanner> scanner) = nullptr;

  static constexpr KindWords called = {"estimate of randoms", "estimates of randoms", "name"};
  const std::string& id() const { return name; }
  std::string problem() const {
    return !name.empty() && knows && make ? "" : "the estimate of randoms '" + name + "' lacks its name, knows or make";
  }
};

extern template KindTable<LineRandomsKind>& table_of<LineRandomsKind>();
extern template struct KindRegistration<LineRandomsKind>;

/// By the kind that knows the scanner. Throws std::runtime_error where none does.
std::unique_ptr<LineRandoms> randoms_of(const std::shared_ptr<const Scanner>& scanner);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
