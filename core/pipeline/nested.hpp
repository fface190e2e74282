// Nested pipelines: `outer: {use: pipeline, file: sub.yaml, from: ..., variables: {...}}` is replaced by the file's
// gadgets, called outer/inner, before anything is typed. The file names its `inputs: [events]`, which its gadgets read
// like gadgets, and its `outputs: {image: estimate}`, which the outer pipeline reads as outer.image.
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "core/pipeline/pipeline.hpp"
#include "core/value/value.hpp"

namespace tofstream {

// One pipeline file: the first is the one that runs, the others are nested in it.
struct PipelineLevel {
  std::string prefix;     // stands before the names of its gadgets: "" or "outer/"
  std::size_t outer = 0;  // the level that it is nested in; the first one's is itself
  Value document;         // includes, options and variables applied
  Value defaults;         // its top-level keys laid over those of the levels around it
};

struct FlatPipeline {
  std::vector<PipelineLevel> levels;
  std::vector<PipelineGadget> gadgets;  // as written, unchecked
};

// The top-level keys that are the runtime's; every other one is a default of gadgets.
const std::vector<std::string>& pipeline_keys();

// Applies includes, options (but --input) and variables to the pipeline, and puts the gadgets of every nested pipeline
// in its place. `file` is where the document comes from.
FlatPipeline flatten(Value document, const std::filesystem::path& file, const PipelineOptions& options,
                     Problems& problems);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
