// What a pipeline's graph says, before it runs, of joins that starve, pair wrong messages or block each other: branches
// of one fork that meet again with different numbers of messages.
#pragma once
#include <vector>

#include "core/pipeline/wiring.hpp"

namespace tofstream {

// Follows the messages of every output from fork to join; `order` is topological. A join whose inputs certainly come at
// different rates is an error, one that a gadget between may upset a warning, each with a remedy.
void check_joins(const std::vector<PipelineGadget>& gadgets, const std::vector<PipelineEdge>& edges,
                 const std::vector<std::size_t>& order, Problems& errors, Problems& warnings);

}  // namespace tofstream
