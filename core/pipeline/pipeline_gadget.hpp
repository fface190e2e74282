// One gadget of a pipeline, read from its YAML: the runtime's keys (use, edge, parallel, merge, join, fault) and the
// gadget's own parameters over the pipeline's defaults.
#pragma once
#include "core/pipeline/wiring.hpp"

namespace tofstream {

// Everything of the gadget but its edges. `defaults` are the top-level keys that it sees. Where its ports depend on its
// parameters, its description is made here.
UnwiredGadget read_gadget(const FlatGadget& flat, const Value& defaults, const Registry& known, Problems& problems);

}  // namespace tofstream
