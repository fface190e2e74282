// Graphviz's own program as a function.
#pragma once

#include <string>

namespace tofstream::command {

/// The SVG that `dot -Tsvg` makes of a digraph in DOT. Throws std::runtime_error where the program is not on the path
/// or fails.
std::string graphviz_svg(const std::string& dot);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
