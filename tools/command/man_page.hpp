// The command's manual page in the man macros of roff, from its own declarations.
#pragma once

#include <string>

#include "tools/command/command_line.hpp"

namespace tofstream::command {

/// tofstream(1): every visible command with its options, environment and exit codes.
std::string man_page(const Command& program);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
