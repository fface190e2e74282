// The lines that a scanner can record, by the kind of scanner: for gadgets that sum sensitivities in another way than a
// projector of list mode does. A family registers how its scanners' lines are enumerated by TOFSTREAM_KIND.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/plugin/kind_table.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/image.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

struct ScannerLinesSettings {
  std::int64_t most_lines = 50'000'000;  // more are sampled: about so many, each of which stands for several
  const Image* mu_per_mm = nullptr;      // that attenuates them, on the host and any grid; null: none
};

struct ScannerLinesCount {
  std::int64_t all = 0, drawn = 0;
};

/// Lines in host memory as non-ToF events, with what each adds to the sensitivity for a mm of it (efficiency x
/// attenuation), and the fraction that is done with them. They hold during the call.
using ScannerLinesVisit = std::function<void(const EventView& lines, const float* values, double done)>;

struct ScannerLines {
  std::string name;
  /// Whether it knows the scanner's lines.
  bool (*knows)(const Scanner& scanner) = nullptr;
  /// Visits all lines that meet the box. Throws std::invalid_argument for a scanner without any.
  ScannerLinesCount (*visit)(const Scanner& scanner, const Grid& box, const ScannerLinesSettings& settings,
                             const ScannerLinesVisit& visit) = nullptr;

  static constexpr KindWords called = {"enumeration of lines", "enumerations of lines", "name"};
  const std::string& id() const { return name; }
  std::string problem() const {
    return !name.empty() && knows && visit ? ""
                                           : "the enumeration of lines '" + name + "' lacks its name, knows or visit";
  }
};

extern template KindTable<ScannerLines>& table_of<ScannerLines>();
extern template struct KindRegistration<ScannerLines>;

/// The one that knows the scanner's lines. Throws std::runtime_error where none does.
const ScannerLines& lines_of(const Scanner& scanner);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
