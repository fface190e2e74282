// What the library warns of, collected from any of its threads until the call in which the session hears of it ends.
#pragma once

#include <string>
#include <vector>

namespace tofstream::octave {

/// From now on warnings and errors of the library's log are collected. Throws Refused.
void collect_log_lines();
/// The lines since the last call.
std::vector<std::string> take_log_lines();

}  // namespace tofstream::octave
// SPDX-License-Identifier: Apache-2.0
