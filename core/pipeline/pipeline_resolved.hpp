// A checked pipeline as YAML again, with every default spelled out: run.json keeps it, and it can be run again.
#pragma once
#include <vector>

#include "core/pipeline/pipeline.hpp"

namespace tofstream {

// Includes, variables, top-level defaults and nested pipelines are resolved; `from` has the full names of gadgets.
Value resolved_pipeline(const std::string& name, const std::vector<PipelineGadget>& gadgets,
                        const std::vector<PipelineEdge>& edges);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
