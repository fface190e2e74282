// Who numbers messages (MessageInfo::origin). A source does, and a gadget that merges several writers as they come
// numbers them anew, since their old numbers are in no order behind it.
#pragma once
#include <vector>

#include "core/pipeline/wiring.hpp"

namespace tofstream {

// An ordered merge or a join by sequence compares numbers. So all its writers must have theirs from the same unordered
// merge, or from none; if not, that is a problem. `order` is topological.
void check_numbering(const std::vector<PipelineGadget>& gadgets, const std::vector<PipelineEdge>& edges,
                     const std::vector<std::size_t>& order, Problems& problems);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
