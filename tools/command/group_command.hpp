// One run whose frames, or gates, several processes of this host share: what can be shared, and which part of a pipeline
// a process has that does not collect the images.
#pragma once

#include "core/pipeline/pipeline.hpp"

namespace tofstream::command {

/// How many processes are to share the images of a pipeline: its `groups`; 1: none.
int groups_of(const Pipeline& pipeline);

/// Throws InputError, in one line with a remedy, where the images of a pipeline with `groups` cannot be shared.
void require_shareable(const Pipeline& pipeline);

/// What a group that does not collect runs of it: all that leads to its projectors, with the faults (`rank`) of this
/// group alone. Images are given to the first group by the update (gadgets/ranks/frame_groups.hpp).
Pipeline part_of_group(Pipeline pipeline, int group);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
