// Checks one gadget of a pipeline: its type, the runtime's keys (use, edge, parallel, merge, join, fault), and its own
// parameters over the pipeline's defaults.
#pragma once
#include "core/pipeline/pipeline.hpp"

namespace tofstream {

// Fills in what is checked of a gadget as written. `defaults` are the top-level keys that it sees. Where its ports
// depend on its parameters, its description is made here.
void check_gadget(PipelineGadget& gadget, const Value& defaults, const Registry& known, Problems& problems);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
