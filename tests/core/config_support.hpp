// Checks of a pipeline given as text, for tests of the configuration.
#pragma once
#include <fstream>

#include "gadgets.hpp"

namespace tofstream::test {

using Lines = std::vector<std::string>;

inline Lines texts_of(const std::vector<Problem>& problems) {
  Lines lines;
  for (const Problem& problem : problems) lines.push_back(problem.text());
  return lines;
}

// Every problem of the pipeline, as a user reads it; none if it is valid.
inline Lines problems_of(std::string_view yaml, const PipelineOptions& options = {},
                         const std::string& name = "pipe.yaml", const Registry& known = registry()) {
  try {
    parse_pipeline(yaml, name, options, known);
  } catch (const ConfigErrors& errors) {
    return texts_of(errors.problems());
  }
  return {};
}

inline const PipelineGadget& node(const Pipeline& pipeline, const std::string& name) {
  const auto found = std::ranges::find(pipeline.gadgets, name, &PipelineGadget::name);
  REQUIRE_MESSAGE(found != pipeline.gadgets.end(), name);
  return *found;
}

inline std::string resolved_text(const Pipeline& pipeline, const std::string& gadget, const std::string& key) {
  return node(pipeline, gadget).resolved.find(key)->text;
}

inline Lines edge_names(const Pipeline& pipeline) {
  Lines names;
  for (const PipelineEdge& edge : pipeline.edges) names.push_back(edge.name);
  return names;
}

inline const PipelineEdge& edge(const Pipeline& pipeline, const std::string& name) {
  const auto found = std::ranges::find(pipeline.edges, name, &PipelineEdge::name);
  REQUIRE_MESSAGE(found != pipeline.edges.end(), name);
  return *found;
}

// A folder of YAML files.
struct Files : TemporaryFolder {
  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
  std::string at(const std::string& name) const { return (path / name).string(); }
};

}  // namespace tofstream::test
// SPDX-License-Identifier: Apache-2.0
