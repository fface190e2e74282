// A checked pipeline as a figure: Mermaid (https://mermaid.js.org), Graphviz DOT
// (https://graphviz.org/doc/info/lang.html) or JSON. Gadgets with their kind, edges with their payload, feedback
// dashed, nested pipelines framed.
#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/pipeline/pipeline.hpp"

namespace tofstream {

// A Mermaid flowchart. Bounds of an edge are written if they are not the default ones.
std::string mermaid_text(const Pipeline& pipeline);

// The same as a digraph for Graphviz.
std::string dot_text(const Pipeline& pipeline);

// {"pipeline", "gadgets": [{name, use, kind, parallel, ...}], "edges": [{from, to, payload, policy, messages, bytes,
// feedback, optional}]}, every value spelled out.
nlohmann::ordered_json graph_json(const Pipeline& pipeline);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
