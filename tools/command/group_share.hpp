// Which part of a host each of several groups takes, so that they do not get in each other's way.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/pipeline/pipeline.hpp"
#include "gadgets/ranks/rank_group.hpp"

namespace tofstream::command {

struct GroupShare {
  int part = 0, parts = 1;      // of the cores that the process may use
  int first_gpu = 0, gpus = 0;  // of those that it may use; 0 GPUs: it is not told which
};

/// How many GPUs a group wants, as its pipeline says by `ranks`; 0: all there are; none: it works on the CPU.
std::optional<int> gpus_of_group(const Pipeline& pipeline);

/// One for each of `groups`, in their order. Those of a host that may use the same cores divide them, and those that
/// see the same GPUs divide these: whoever started them may have given each its own. Throws InputError where there are
/// fewer GPUs than they need.
std::vector<GroupShare> shares_of_groups(std::span<const RankIdentity> groups, std::optional<int> gpus_of_each);

/// From now on this process has its part alone. CUDA has not looked at the GPUs yet.
void take_share(const GroupShare& share);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
