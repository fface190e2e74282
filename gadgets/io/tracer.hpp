// What was injected, as the user says it: events know nothing of it. For the formats that ask for it.
#pragma once

#include <string>

#include "core/value/params.hpp"

namespace tofstream {

/// `tracer: {name: FDG, isotope: F-18, injected_MBq: 350, injected_at: '2026-03-01T08:30:00'}`
struct Tracer {
  std::string name;
  std::string isotope;
  double injected_MBq = 0;
  std::string injected_at;
  static constexpr auto params = describe(
      param<&Tracer::name>("name", "The tracer, such as FDG"),
      param<&Tracer::isotope>("isotope",
                              "C-11, N-13, O-15, F-18, Cu-64, Ga-68, Rb-82 or Zr-89; of SPECT Tc-99m, I-123, ..."),
      param<&Tracer::injected_MBq>("injected_MBq", range(0, 1e6), unit("MBq"),
                                   "Activity that was injected, at the time of injection; 0: not said"),
      param<&Tracer::injected_at>("injected_at",
                                  "Date and time of the injection, as '2026-03-01T08:30:00'; empty: not said"));
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
