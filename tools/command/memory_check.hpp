// Whether a pipeline fits into this machine's memory, and if not, the size of image that does.
#pragma once

#include <string>

#include "core/pipeline/memory_estimate.hpp"
#include "core/pipeline/pipeline.hpp"

namespace tofstream::command {

/// What a run may have now: of a GPU, what is free.
MachineMemory free_memory();

/// Adds to the errors of a verdict the largest image of the same shape that has none, if one has: "..., and
/// image.size=[812,812,600] fits". `name` and `options` are those that the pipeline was loaded by.
MemoryVerdict with_size_that_fits(MemoryVerdict verdict, const std::string& name, const PipelineOptions& options,
                                  const Pipeline& pipeline, const MachineMemory& machine);

/// Throws InputError, with the size that fits, for a run that no state of this machine has room for; prints a warning
/// for one that may not have it.
void require_memory(const std::string& name, const PipelineOptions& options, const Pipeline& pipeline);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
