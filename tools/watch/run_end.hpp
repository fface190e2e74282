// The end of a run in a few lines for people: where the image is, what it is, of how many events, and corrected for
// what.
#pragma once

#include <string>

#include "core/report/report.hpp"

namespace tofstream {

/// Lines ended by '\n'. Of a run that made no image: its files and its events.
std::string run_end(const RunReport& report);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
