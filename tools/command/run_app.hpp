// The end of every program's main: the line is parsed, what it asks for runs, and exceptions become one line and a
// code.
#pragma once

#include "tools/command/command_line.hpp"

namespace tofstream::command {

/// Parses the line, whose callbacks do the work, with `--version` besides. 0: done, 1: failed while running, 2: wrong
/// input, or the code of an ExitWith; messages begin with the app's name.
/// `more_of_version`: gives a line of `--version` that this program has beside those of all.
int run_app(Program& app, int argc, char** argv, const std::function<std::string()>& more_of_version = {});

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
