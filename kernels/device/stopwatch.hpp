// Times work on either backend: CUDA events around what a stream is given, or the host's steady clock.
#pragma once

#include <functional>
#include <vector>

#include "kernels/memory/memory.hpp"

namespace tofstream {

/// Milliseconds that `work` takes, once for each of `repeats` runs after `warm_ups` more. On CUDA by events on the
/// default stream, so that the work is measured and not its launch; on the CPU by the clock.
std::vector<double> time_ms(Backend backend, int warm_ups, int repeats, const std::function<void()>& work);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
