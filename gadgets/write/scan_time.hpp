// How long the scan was, as the run's gadgets report it: for writers whose format asks for it.
#pragma once

#include <variant>

#include "core/gadget.hpp"
#include "core/run/run_control.hpp"

namespace tofstream {

/// Scan time in s of all events that have come; 0 where no gadget reports it. It is the scan's own only once the stream
/// has ended, as in a writer's flush: before, it depends on how far ahead the source is.
inline double scan_time_s(Context& context) {
  if (!context.control()) return 0;
  const RunReport run = context.control()->snapshot();
  for (const char* name : {"scan_s", "seconds"})  // the second: of a simulation
    for (const GadgetReport& gadget : run.gadgets)
      if (const auto found = gadget.figures.find(name); found != gadget.figures.end())
        if (const auto* seconds = std::get_if<double>(&found->second)) return *seconds;
  return 0;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
