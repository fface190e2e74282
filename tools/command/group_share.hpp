// What a group takes of its host.
#pragma once

#include <optional>

#include "core/pipeline/pipeline.hpp"
#include "gadgets/ranks/host_share.hpp"

namespace tofstream::command {

/// How many GPUs a group wants, as its pipeline says by `ranks`; 0: all there are; none: it works on the CPU.
std::optional<int> gpus_of_group(const Pipeline& pipeline);

/// From now on this process has its part alone. CUDA has not looked at the GPUs yet.
void take_share(const HostShare& share);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
