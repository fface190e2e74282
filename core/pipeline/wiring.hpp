// Draws the edges of a pipeline: resolves the sources of each input to ports, compares payload types, refuses cycles
// without feedback, and puts gadgets into topological order.
#pragma once
#include <vector>

#include "core/pipeline/pipeline.hpp"

namespace tofstream {

// Edges as indices into `gadgets`; the edges of one input are in the order in which `from` lists their writers.
std::vector<PipelineEdge> wire(const std::vector<PipelineGadget>& gadgets, Problems& problems);

// The indices of the gadgets in an order in which every edge but feedback points forward. A cycle without a
// feedback input, and one in which no gadget has a start() to open it, are problems.
std::vector<std::size_t> topological_order(const std::vector<PipelineGadget>& gadgets,
                                           const std::vector<PipelineEdge>& edges, Problems& problems);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
