// Finds in a pipeline's graph, before it runs, joins that starve, pair wrong messages or block each other, since
// branches of one fork meet again with different numbers of messages.
#pragma once
#include <vector>

#include "core/pipeline/wiring.hpp"

namespace tofstream {

// Follows the messages of every output from fork to join; `order` is topological. It is an error if the inputs of a
// join certainly come at different rates, and a warning if a gadget between may cause that; each says what to do.
void check_joins(const std::vector<PipelineGadget>& gadgets, const std::vector<PipelineEdge>& edges,
                 const std::vector<std::size_t>& order, Problems& errors, Problems& warnings);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
