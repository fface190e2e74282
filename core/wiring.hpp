// The edges of a pipeline: `from` resolved to ports, payload types compared, cycles without
// feedback refused, gadgets put into topological order.
#pragma once
#include <vector>

#include "core/pipeline.hpp"
#include "core/value.hpp"

namespace tofstream {

// A gadget whose edges are still to be drawn; `info` is null where its type is unknown (its edges
// are not typed then).
struct UnwiredGadget {
  PipelineGadget gadget;
  Value from;  // null where it says none
  EdgeSettings edge;
  bool messages_given = false;
};

// Edges in terms of indices into `gadgets`.
std::vector<PipelineEdge> wire(const std::vector<UnwiredGadget>& gadgets, Problems& problems);

// The indices of the gadgets so that every edge but feedback points forward. A cycle without a
// feedback input, and one in which no gadget has a start() to open it, are problems.
std::vector<std::size_t> topological_order(const std::vector<UnwiredGadget>& gadgets,
                                           const std::vector<PipelineEdge>& edges, Problems& problems);

}  // namespace tofstream
