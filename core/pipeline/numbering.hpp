// Who numbers messages (MessageInfo::origin): the source, and anew a gadget that merges several writers as they come,
// since behind it their old numbers are in no order.
#pragma once
#include <vector>

#include "core/pipeline/wiring.hpp"

namespace tofstream {

// An ordered merge or a join by sequence compares numbers, so all its writers must have theirs from the same unordered
// merge, or from none: else the gadget is a problem. `order` is topological.
void check_numbering(const std::vector<PipelineGadget>& gadgets, const std::vector<PipelineEdge>& edges,
                     const std::vector<std::size_t>& order, Problems& problems);

}  // namespace tofstream
