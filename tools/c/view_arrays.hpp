// A camera's views as the caller's arrays, checked.
#pragma once

#include <memory>

#include "kernels/types/views.hpp"
#include "tools/c/tofstream.h"

namespace tofstream::c_api {

/// Throws Wrong for views that cannot be.
std::shared_ptr<const ViewSet> view_set_of(const tof_views& from);

/// A copy of views of the set. Throws Wrong for what is missing, a number or window that the set has not, and counts that
/// cannot be.
ViewBatch batch_of(const tof_view_counts& views, const std::shared_ptr<const ViewSet>& set);

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
