// Batches cut at moments of scan time.
#pragma once

#include <span>
#include <vector>

#include "kernels/types/events.hpp"

namespace tofstream {

/// The pieces of a batch between those of the ascending moments that lie within its time. Its events are taken as spread
/// evenly over its time, in the order of their arrival, which pieces still know, and it is cut at the event that is nearest
/// to a moment; a batch without events is cut at the moments themselves.
std::vector<EventBatch> cut_in_time(EventBatch batch, std::span<const double> moments_s);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
