// Batches of views made one, as an update takes all views of a subset. The twin of join_events.hpp.
#pragma once

#include <span>

#include "kernels/types/views.hpp"

namespace tofstream {

/// Whether the views of both may be in one batch: they have the same set, window, reference time and arrays.
bool can_join(const ViewBatch& a, const ViewBatch& b);

/// The views of the batches, one batch after the other, in one batch in `memory`, complete on return. Batches may lie
/// on the host or the device. Throws std::invalid_argument for no batches or such as cannot be joined, and
/// OutOfMemory.
ViewBatch join_views(std::span<const ViewBatch* const> batches, Memory memory, Stream stream = nullptr);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
