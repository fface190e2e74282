// The gadgets' calls as NVTX ranges, which Nsight Systems shows beside kernels and copies. Without a profiler attached
// a range costs a few nanoseconds; without CUDA there are none.
#pragma once

#include <memory>

#include "core/run/observer.hpp"

namespace tofstream {

/// An observer that marks every call; null where this build has no CUDA.
std::unique_ptr<Observer> make_nvtx_ranges();

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
