// What went wrong in a gadget or at an edge, as the report has it.
#pragma once
#include <exception>

#include "core/report/report.hpp"
#include "core/run/edge.hpp"
#include "core/run/node.hpp"

namespace tofstream {

// What a gadget's code threw, whatever its type.
RunError error_of(const Node& node, std::exception_ptr cause);

// An edge with `policy: spill` could not use its disk.
RunError spill_error(const Edge& edge, const std::exception& cause);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
