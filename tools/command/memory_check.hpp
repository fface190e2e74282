// Whether a pipeline fits into this machine's memory, and if not, the size of image that does.
#pragma once

#include <string>

#include "core/pipeline/memory_estimate.hpp"
#include "core/pipeline/pipeline.hpp"

namespace tofstream::command {

/// What a run may have now: of a GPU, what is free.
MachineMemory free_memory();

using EstimateOf = MemoryEstimate(const Pipeline& pipeline);

/// compare_memory(), whose errors also say the largest image of the same shape that has none, if one has: "...;
/// image.size=[812,812,600] fits". `name` and `options` are those that the pipeline was loaded by.
MemoryVerdict compare_with_size(const std::string& name, const PipelineOptions& options, const Pipeline& pipeline,
                                const MachineMemory& machine, EstimateOf& estimate_of = estimate_memory);

/// Throws InputError, with the size that fits, for a run whose images this machine cannot hold, whatever else it does;
/// prints a warning where it may not hold them.
void require_memory(const std::string& name, const PipelineOptions& options, const Pipeline& pipeline);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
