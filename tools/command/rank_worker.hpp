// A process that takes part in a run as a rank that is not the first: it projects what the first one sends it.
#pragma once

#include <chrono>
#include <string>

#include "core/pipeline/pipeline.hpp"
#include "gadgets/ranks/rank_group.hpp"

namespace tofstream::command {

struct WorkerSettings {
  RankIdentity own;
  std::string endpoint;
  KeyParams keys = {};
  std::chrono::milliseconds patience{30'000};  // for the first one and all others
  const Pipeline& pipeline;                    // read only where the identity names no problem
};

/// Until the first says that the run is over: its exit code. 2 where no run begins, of which the first says why; 1, and a
/// line, where the first vanishes. Such an end, or one in the middle of a pass, ends the process at once, since it has
/// nothing to write. Interrupts are left to the first.
int work_as_rank(const WorkerSettings& settings);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
