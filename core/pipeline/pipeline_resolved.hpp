// A checked pipeline as YAML again, every default spelled out: what run.json keeps, and what can be run in its turn.
#pragma once
#include <vector>

#include "core/pipeline/pipeline.hpp"

namespace tofstream {

// Includes, variables, top-level defaults and nested pipelines are in their place; `from` has each gadget's full name.
Value resolved_pipeline(const std::string& name, const std::vector<PipelineGadget>& gadgets,
                        const std::vector<PipelineEdge>& edges);

}  // namespace tofstream
