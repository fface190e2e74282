// One run whose frames, or gates, several processes share: what can be shared, and which part of a pipeline
// each of them has.
#pragma once

#include <string>
#include <vector>

#include "core/pipeline/pipeline.hpp"

namespace tofstream::command {

/// How many processes are to share the images of a pipeline: its `groups`; 1: none.
int groups_of(const Pipeline& pipeline);

/// Throws InputError, in one line with a remedy, where the images of a pipeline with `groups` cannot be shared.
void require_shareable(const Pipeline& pipeline);

/// The gadgets of which a message of a group's log is worth passing on: projectors, updates and what is between them.
/// They do nothing in the process that collects.
std::vector<std::string> gadgets_of_groups(const Pipeline& pipeline);

/// What a group runs of it: all that leads to its projectors, with the faults (`rank`) of this
/// group alone. Images are given to the process that collects by the update (gadgets/ranks/frame_groups.hpp).
Pipeline part_of_group(Pipeline pipeline, int group);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
