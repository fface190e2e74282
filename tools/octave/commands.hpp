// What the gateway can be asked for, by name: thin calls of the C interface (tofstream.h).
#pragma once

#include <string>
#include <vector>

#include "values.hpp"

namespace tofstream::octave {

/// The results of a command for these arguments. Throws Refused, with the library's line where it refuses.
std::vector<mxArray*> do_command(const std::string& name, Arguments& given);

}  // namespace tofstream::octave
// SPDX-License-Identifier: Apache-2.0
