// The ratios of list-mode EM on a GPU, between a forward and a back projection that are done apart.
#pragma once

#include "kernels/memory/memory.hpp"
#include "kernels/project/device_tally.cuh"
#include "kernels/types/events.hpp"

namespace tofstream {

/// numbers[i], the expectation (A x)_i of an event, becomes its ratio y / (A x + c/m), or 0 where the event is skipped;
/// the tally counts it. All in the device's memory; queued on the stream.
void make_ratios(const EventView& events, float* numbers, DeviceTally* tally, Stream stream);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
