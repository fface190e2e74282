// How far a run is, of what its gadgets say of themselves: for the line at a terminal and for programs that call.
#pragma once
#include <optional>
#include <string>

#include "core/report/report.hpp"

namespace tofstream {

struct RunProgress {
  // From 0 to 1: of the gadget that is the least far among those that have begun and know their end; none where none
  // does. It falls where a further gadget begins.
  std::optional<double> fraction;
  // One line: what each gadget says, and what it waits for; the time since data came, that of a live scan, or else
  // since the run began; and the time left where it can be told. Empty where nobody says anything.
  std::string line;
};

// How far the run of this report has come.
RunProgress run_progress(const RunReport& report);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
