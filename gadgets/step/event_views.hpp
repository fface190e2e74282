// Views that events are laid down into, by directions of their lines: for doors that make such views without a pipeline.
// A family registers how by TOFSTREAM_KIND.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/gadget.hpp"
#include "core/plugin/kind_table.hpp"
#include "gadgets/step/scanner_lines.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/grid.hpp"
#include "kernels/types/views.hpp"

namespace tofstream {

/// Intervals of azimuth in [0, 180) degrees, and of the co-polar angle within the acceptance: a view each.
struct EventDirections {
  int azimuths = 0, tilts = 0;
  float acceptance_deg = 0;
  bool on_image = false;  // their points are the image's voxels; else they lie along each view
};

/// What became of events.
struct LaidDown {
  std::int64_t counted = 0, beyond_acceptance = 0, outside = 0, no_line = 0;
};

/// A scanner's lines: all, those that were drawn of them, and those of these that belong to a view.
struct LinesOfViews {
  std::int64_t all = 0, drawn = 0, accepted = 0;
};

/// Random coincidences of a scan, uniform over ToF, and how they are known.
struct RandomsOfViews {
  std::shared_ptr<const Scanner> scanner;
  double seconds = 0;                    // of the scan
  const EventBatch* delayeds = nullptr;  // its delayed coincidences, with their scanner; null: rate_cps
  double rate_cps = 0;                   // of all lines together, shared out by efficiency
  float window_mm = 0;                   // TofModel::window_mm
  std::int64_t most_lines = ScannerLinesSettings{}.most_lines;
};

struct EventViews {
  std::string name;
  /// What the views of an image are. Throws std::invalid_argument for what cannot be.
  ViewSet (*set_of)(const Grid& grid, const EventDirections& directions) = nullptr;
  /// counts = those of the events, [view][k][j][i], each at its most likely point: shared out to the points around it, or
  /// whole to the nearest. Events and counts lie in the backend's memory; complete on return. Throws
  /// std::invalid_argument for events without ToF.
  LaidDown (*lay_down)(const Grid& grid, const EventDirections& directions, const EventView& events, bool nearest,
                       float* counts, Backend backend, Stream stream) = nullptr;
  /// terms = what each point's expectation is multiplied by for this scanner, [view][k][j][i] in host memory: the back
  /// projection of the lines that belong to the view. Throws std::invalid_argument where a view has no line,
  /// std::runtime_error where nobody knows the scanner's lines.
  LinesOfViews (*terms)(const Grid& grid, const EventDirections& directions, const Scanner& scanner,
                        const ScannerLinesSettings& settings, float* terms, Context& context) = nullptr;
  /// counts = the expected randoms at each point, [view][k][j][i] in host memory. Throws std::invalid_argument for
  /// randoms that cannot be, std::runtime_error where nobody knows those of the scanner's lines.
  void (*randoms)(const Grid& grid, const EventDirections& directions, const RandomsOfViews& randoms, float* counts,
                  Context& context) = nullptr;

  static constexpr KindWords called = {"kind of views of events", "kinds of views of events", "name"};
  const std::string& id() const { return name; }
  std::string problem() const {
    return !name.empty() && set_of && lay_down && terms && randoms
               ? ""
               : "the kind of views of events '" + name + "' lacks its name, set_of, lay_down, terms or randoms";
  }
};

extern template KindTable<EventViews>& table_of<EventViews>();
extern template struct KindRegistration<EventViews>;

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
