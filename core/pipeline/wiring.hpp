// The edges of a pipeline: the sources of each input resolved to ports, payload types compared, cycles without
// feedback refused, gadgets put into topological order.
#pragma once
#include <vector>

#include "core/pipeline/pipeline.hpp"

namespace tofstream {

// Edges in terms of indices into `gadgets`, those of one input in the order in which `from` lists their writers.
std::vector<PipelineEdge> wire(const std::vector<PipelineGadget>& gadgets, Problems& problems);

// The indices of the gadgets so that every edge but feedback points forward. A cycle without a
// feedback input, and one in which no gadget has a start() to open it, are problems.
std::vector<std::size_t> topological_order(const std::vector<PipelineGadget>& gadgets,
                                           const std::vector<PipelineEdge>& edges, Problems& problems);

}  // namespace tofstream
