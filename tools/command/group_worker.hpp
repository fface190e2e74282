// A process that takes part in a run as a group: it reconstructs the frames, or gates, that it claims.
#pragma once

#include "tools/command/rank_worker.hpp"

namespace tofstream::command {

/// As work_as_rank(), with a part of the pipeline as its work (part_of_group()). What it logs the first is told.
/// `ends_with_first`: the first has started it.
int work_as_group(const WorkerSettings& settings, bool ends_with_first);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
