// Which part of a host each of several groups takes, so that they do not get in each other's way.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gadgets/ranks/rank_group.hpp"

namespace tofstream {

struct HostShare {
  int part = 0, parts = 1;      // of the cores that the process may use
  int first_gpu = 0, gpus = 0;  // of those that it sees; 0 GPUs: it is not told which
};

/// One for each of `groups`, in their order. Those of a host that may use the same cores divide them, and those that
/// see the same GPUs divide these: whoever started them may have given each its own. `gpus_of_each`: how many GPUs a
/// group wants; 0: all there are; none: it works on the CPU. Throws std::invalid_argument where there are fewer GPUs than
/// they need.
std::vector<HostShare> shares_of_hosts(std::span<const RankIdentity> groups, std::optional<int> gpus_of_each);

/// Which of so many things are in one of `parts` parts, from 0: from, and to.
std::pair<int, int> part_of(int part, int parts, int all);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
