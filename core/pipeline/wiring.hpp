// The edges of a pipeline: the sources of each input resolved to ports, payload types compared, cycles without
// feedback refused, gadgets put into topological order.
#pragma once
#include <vector>

#include "core/pipeline/nested.hpp"
#include "core/pipeline/pipeline.hpp"
#include "core/value/value.hpp"

namespace tofstream {

// The bounds of the edges into one input.
struct InputEdge {
  EdgeSettings settings;
  bool messages_given = false;
  Location where;  // of the policy; where none is given, of all that is
};

// A gadget whose edges are still to be drawn.
struct UnwiredGadget {
  PipelineGadget gadget;
  bool has_ports = false;  // false where its type is unknown, or depends on parameters that are wrong
  std::size_t level = 0;
  Location from_where;
  std::vector<InputSources> from;
  std::vector<InputEdge> edges;  // of each input, where it has ports
  Location merge_where;          // of the key `merge`; no line where it is not there
  bool merge_given = false;
  bool join_given = false;
};

// Edges in terms of indices into `gadgets`, those of one input in the order in which `from` lists their writers.
std::vector<PipelineEdge> wire(const std::vector<UnwiredGadget>& gadgets, Problems& problems);

// The indices of the gadgets so that every edge but feedback points forward. A cycle without a
// feedback input, and one in which no gadget has a start() to open it, are problems.
std::vector<std::size_t> topological_order(const std::vector<UnwiredGadget>& gadgets,
                                           const std::vector<PipelineEdge>& edges, Problems& problems);

}  // namespace tofstream
